// Requests that happen once under an `Idempotency-Key`. test/battery/idempotency.test.ts sends them.
import type { ErrorCode } from "../src/errors.ts";

export interface Service {
  send: (method: string, path: string, body?: object) => Promise<Response>;
  run: (sql: string) => Promise<unknown>;
}

/** A request that nothing refuses. */
export interface OnceRequest {
  path: string;
  body: object;
  /** The same request in other bytes. */
  same: object | string;
  /** Other requests of the operation. The first one would succeed as well, also after a refusal. */
  others: [object, ...object[]];
}

export interface Once {
  /** What the request does, if the operation has several. */
  name?: string;
  prepare: (service: Service) => Promise<OnceRequest>;
  /** A patch that leaves a new resource unchanged. */
  nothing?: object;
  events: number;
  /** A patch of its resource by somebody else, after which the request would have another effect. */
  disturb: () => object;
  /** Makes the request conflict. Returns the code and, if one blocks the request, the path of the resource to delete. */
  conflict?: (service: Service, request: OnceRequest) => Promise<[code: ErrorCode, blocker?: string]>;
}

export const unique = () => crypto.randomUUID();
export const idOf = (path: string) => Number(path.split("/").at(-1));

/** Creates a resource and returns its path. */
export async function create({ send }: Service, collection: string, body: object): Promise<string> {
  const response = await send("POST", collection, body);
  if (response.status !== 201) throw new Error(`${collection} responded with ${response.status}`);
  return response.headers.get("Location") ?? "";
}

// No category has this id, so that each can be deleted.
export const REX = { name: "Rex", categoryId: -7 };
export const newAnimal = (service: Service) => create(service, "/v1/pets", REX);
export const newCategory = (service: Service, name: string = unique()) =>
  create(service, "/v1/categories", { name, description: "x" });
export const newOrder = (service: Service, pet: string) => create(service, "/v1/store/orders", { petId: idOf(pet) });

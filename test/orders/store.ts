import { env } from "cloudflare:workers";
import { call } from "../support/client.ts";
import { type Fault, observedDatabase } from "../support/observed-d1.ts";
import { grantKey } from "../support/keys.ts";

export class Client {
  readonly key: string;

  private constructor(key: string) {
    this.key = key;
  }

  /** @param key with all scopes, unless given. */
  static async create(key?: string): Promise<Client> {
    return new Client(key ?? (await grantKey()));
  }

  async addAnimal(status = "available"): Promise<number> {
    const body = { name: "Rex", categoryId: 1, status };
    const response = await call("/v1/pets", { method: "POST", key: this.key, body });
    return (await response.json<{ id: number }>()).id;
  }

  async animal(id: number): Promise<[status: string, version: string | null]> {
    const response = await call(`/v1/pets/${id}`, { key: this.key });
    return [(await response.json<{ status: string }>()).status, response.headers.get("ETag")];
  }

  place(body: object | string, headers: Record<string, string> = {}, ...faults: Fault[]): Promise<Response> {
    return this.#send("POST", "/v1/store/orders", body, headers, faults);
  }

  /** Places an order for a new animal. Returns the path of the order, and the id of the animal. */
  async placeNew(): Promise<{ path: string; petId: number }> {
    const petId = await this.addAnimal();
    const response = await this.place({ petId });
    return { path: response.headers.get("Location") ?? "", petId };
  }

  get(path: string, headers: Record<string, string> = {}): Promise<Response> {
    return call(path, { key: this.key, headers });
  }

  patch(
    path: string,
    body: object | string,
    headers: Record<string, string> = {},
    ...faults: Fault[]
  ): Promise<Response> {
    return this.#send("PATCH", path, body, headers, faults);
  }

  ship(path: string): Promise<Response> {
    return this.patch(path, { status: "shipped" });
  }

  delete(path: string, headers: Record<string, string> = {}, ...faults: Fault[]): Promise<Response> {
    return this.#send("DELETE", path, undefined, headers, faults);
  }

  #send(
    method: string,
    path: string,
    body: object | string | undefined,
    headers: Record<string, string>,
    faults: Fault[],
  ): Promise<Response> {
    const { DB } = observedDatabase(...faults);
    return call(path, { method, key: this.key, headers, bindings: { DB }, ...(body === undefined ? {} : { body }) });
  }
}

/** The rows of an animal's orders, in the order of their placement. */
export async function statesOf(petId: number): Promise<string[]> {
  const statement = env.DB.prepare("SELECT status FROM orders WHERE pet_id = ? ORDER BY id").bind(petId);
  return (await statement.all<{ status: string }>()).results.map(({ status }) => status);
}

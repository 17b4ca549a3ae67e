import { env } from "cloudflare:workers";
import fc from "fast-check";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { call } from "../support/client.ts";
import { type Fault, faultyDatabase, LASTING_ERRORS, TRANSIENT_ERRORS } from "../support/faulty-d1.ts";
import { grantKey } from "../support/keys.ts";

// The service against a plain model of it: the same random commands go to both, and every answer has to be the model's.
// To reproduce a failure, take `seed` and `path` from fast-check's report.

const SEED = 20_301_205;
const RUNS = 40;
const COMMANDS_PER_RUN = 120;

const STATUSES = ["available", "pending", "sold"] as const;

interface NewPet {
  name: string;
  /** Decimal digits, as everywhere in this file: the model does not round either. */
  categoryId: string;
  status?: (typeof STATUSES)[number] | undefined;
}
interface Pet extends NewPet {
  id: number;
  status: (typeof STATUSES)[number];
}

/** The whole service, as one would write it if nothing ever failed. */
class Model {
  pets: Pet[] = [];
  /** By API key and idempotency key. */
  created = new Map<string, { request: string; pet: Pet }>();

  create(newPet: NewPet, key?: string): { pet: Pet; replayed: boolean } | "reused" {
    const request = JSON.stringify([newPet.name, newPet.categoryId, newPet.status ?? "available"]);
    const known = key === undefined ? undefined : this.created.get(key);
    if (known !== undefined) return known.request === request ? { pet: known.pet, replayed: true } : "reused";
    const pet = { ...newPet, id: this.pets.length + 1, status: newPet.status ?? ("available" as const) };
    this.pets.push(pet);
    if (key !== undefined) this.created.set(key, { request, pet });
    return { pet, replayed: false };
  }
}

interface Service {
  apiKeys: string[];
}

function write({ id, name, categoryId, status }: Pet): string {
  return `{"id":${id},"name":${JSON.stringify(name)},"categoryId":${categoryId},"status":"${status}"}`;
}

class Create implements fc.AsyncCommand<Model, Service> {
  readonly pet: NewPet;
  readonly key: { apiKey: number; idempotencyKey: string } | undefined;
  readonly faults: Fault[];

  constructor(pet: NewPet, key: Create["key"], faults: Fault[]) {
    this.pet = pet;
    this.key = key;
    this.faults = faults;
  }

  check = () => true;

  async run(model: Model, service: Service): Promise<void> {
    const { DB } = faultyDatabase(...this.faults);
    const status = this.pet.status === undefined ? "" : `,"status":"${this.pet.status}"`;
    const response = await call("/v1/pets", {
      method: "POST",
      key: service.apiKeys[this.key?.apiKey ?? 0] ?? "",
      body: `{"name":${JSON.stringify(this.pet.name)},"categoryId":${this.pet.categoryId}${status}}`,
      ...(this.key === undefined ? {} : { headers: { "Idempotency-Key": this.key.idempotencyKey } }),
      bindings: { DB },
    });
    const expected = this.expect(model);
    const answer = {
      status: response.status,
      replayed: response.headers.get("Idempotency-Replayed"),
      location: response.headers.get("Location"),
      body: response.status === 201 ? await response.text() : (await response.json<{ code: string }>()).code,
    };
    expect(answer).toEqual(expected);
  }

  /** What the answer has to be, after the faults that it meets. */
  expect(model: Model) {
    const key = this.key && `${this.key.apiKey} ${this.key.idempotencyKey}`;
    const attempts = key === undefined ? 1 : 3;
    for (const fault of [...this.faults.slice(0, attempts), undefined].slice(0, attempts)) {
      const outcome = fault?.when === "before" ? undefined : model.create(this.pet, key);
      if (fault === undefined && outcome !== undefined) {
        if (outcome === "reused") return failure(422, "idempotency_key_reused");
        const { pet, replayed } = outcome;
        return {
          status: 201,
          replayed: replayed ? "true" : null,
          location: `/v1/pets/${pet.id}`,
          body: write(pet),
        };
      }
      if (fault !== undefined && LASTING_ERRORS.includes(fault.message)) break;
    }
    return failure(503, "service_unavailable");
  }

  toString = () => `create(${JSON.stringify({ ...this.pet, key: this.key, faults: this.faults })})`;
}

function failure(status: number, code: string) {
  return { status, replayed: null, location: null, body: code };
}

class List implements fc.AsyncCommand<Model, Service> {
  readonly limit: number | undefined;
  readonly status: (typeof STATUSES)[number] | undefined;

  constructor(limit: List["limit"], status: List["status"]) {
    this.limit = limit;
    this.status = status;
  }

  check = () => true;

  async run(model: Model, service: Service): Promise<void> {
    const expected = model.pets.filter(({ status }) => this.status === undefined || status === this.status);
    const query = new URLSearchParams();
    if (this.limit !== undefined) query.set("limit", String(this.limit));
    if (this.status !== undefined) query.set("status", this.status);
    const size = this.limit ?? 20;
    let path: string | undefined = `/v1/pets?${query.toString()}`;
    for (let start = 0; path !== undefined; start += size) {
      const response: Response = await call(path, { key: service.apiKeys[0] ?? "" });
      expect(await response.text()).toBe(
        `[${expected
          .slice(start, start + size)
          .map(write)
          .join()}]`,
      );
      const next = /<(.+)>; rel="next"/.exec(response.headers.get("Link") ?? "")?.[1];
      expect(next !== undefined).toBe(expected.length > start + size);
      path = next?.replace("https://pets.example", "");
    }
  }

  toString = () => `list(${JSON.stringify({ limit: this.limit, status: this.status })})`;
}

class Get implements fc.AsyncCommand<Model, Service> {
  readonly id: number;

  constructor(id: number) {
    this.id = id;
  }

  check = () => true;

  async run(model: Model, service: Service): Promise<void> {
    const response = await call(`/v1/pets/${this.id}`, { key: service.apiKeys[0] ?? "" });
    const pet = model.pets.find(({ id }) => id === this.id);
    expect(response.status).toBe(pet === undefined ? 404 : 200);
    if (pet !== undefined) expect(await response.text()).toBe(write(pet));
  }

  toString = () => `get(${this.id})`;
}

const int64 = fc.oneof(
  fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }),
  fc.constantFrom(-(2n ** 63n), 2n ** 63n - 1n, 2n ** 53n + 1n, -(2n ** 53n) - 1n, 0n),
);
const newPet: fc.Arbitrary<NewPet> = fc.record(
  {
    // Few of both, so that requests under one key are often the same.
    name: fc.constantFrom("Rex", "Émile 🐍", "\u0000", 'a"b\\c'),
    categoryId: fc.oneof(fc.constantFrom("1", "9007199254740993"), int64.map(String)),
    status: fc.option(fc.constantFrom(...STATUSES), { nil: undefined }),
  },
  { requiredKeys: ["name", "categoryId"] },
);
const fault: fc.Arbitrary<Fault> = fc.record({
  when: fc.constantFrom("before" as const, "after" as const),
  message: fc.constantFrom(...TRANSIENT_ERRORS, ...LASTING_ERRORS),
});
const faults: fc.Arbitrary<Fault[]> = fc.oneof(
  { weight: 3, arbitrary: fc.constant<Fault[]>([]) },
  { weight: 1, arbitrary: fc.array(fault, { maxLength: 4 }) },
);
const idempotencyKey = fc.option(
  fc.record({ apiKey: fc.nat({ max: 1 }), idempotencyKey: fc.constantFrom("a", "b", "c", "d") }),
  { nil: undefined },
);

const commands = [
  fc.tuple(newPet, idempotencyKey, faults).map(([pet, key, list]) => new Create(pet, key, list)),
  fc.tuple(newPet, idempotencyKey, faults).map(([pet, key, list]) => new Create(pet, key, list)),
  fc
    .tuple(
      fc.option(fc.integer({ min: 1, max: 100 }), { nil: undefined }),
      fc.option(fc.constantFrom(...STATUSES), { nil: undefined }),
    )
    .map(([limit, status]) => new List(limit, status)),
  fc.nat({ max: 40 }).map((id) => new Get(id)),
];

let apiKeys: string[];
beforeAll(async () => {
  apiKeys = [await grantKey(), await grantKey()];
  // Time is not what is tested here.
  vi.spyOn(scheduler, "wait").mockResolvedValue();
});
afterAll(() => {
  vi.restoreAllMocks();
});

test("whatever is asked, in whatever order and with whatever faults, the answers are the model's", async () => {
  let steps = 0;
  await fc.assert(
    fc.asyncProperty(fc.commands(commands, { size: "max", maxCommands: COMMANDS_PER_RUN }), async (list) => {
      await env.DB.batch([
        env.DB.prepare("DELETE FROM pets"),
        env.DB.prepare("DELETE FROM idempotency_keys"),
        env.DB.prepare("DELETE FROM sqlite_sequence"),
      ]);
      steps += [...list].length;
      await fc.asyncModelRun(() => ({ model: new Model(), real: { apiKeys } }), list);
    }),
    { seed: SEED, numRuns: RUNS },
  );
  console.log(`${steps} steps`);
  expect(steps).toBeGreaterThan(2_000);
}, 120_000);

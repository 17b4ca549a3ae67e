// The calls of programs in the simulated worlds, and the answers of the model.
import type { Fields } from "../client/src/fits.ts";
import type { List, Page, Session } from "../client/src/index.ts";
import type { Answer, Model, Preconditions, View } from "../test/model/model.ts";
import { SCRIPTS } from "./scripts.ts";
import type { Random } from "../test/world/random.ts";

type Resource = "pets" | "categories" | "store/orders";

/** What clients have heard of the store: ids, versions and cursors of the feed. */
interface Known {
  id: (random: Random, resource: Resource) => number;
  /** A version that the resource has, or one near it. */
  version: (random: Random, resource: Resource, id: number) => number;
  readonly cursors: readonly string[];
  /** When orders were placed. */
  readonly times: readonly string[];
}

/** What a call has: the client, the chance of its step and what clients know. */
export interface Call {
  client: Pick<Session, "pets" | "categories" | "orders" | "events" | "key" | "token">;
  random: Random;
  known: Known;
  /** Of a creation or a change, kept by the program for the time after a crash. */
  idempotencyKey: string;
  /** Whose token the client has. Undefined for one with a key. */
  customer?: string;
  /** The customers of orders. None beside a version that knows none. */
  customers: readonly string[];
}

/** A call with its arguments, which a program repeats after a crash. */
export type Prepared = (client: Call["client"]) => Promise<unknown>;

/** A body with each of its fields, so that the worlds leave none out: an optional one may be undefined. */
export type Whole<Body> = { [Field in keyof Body]-?: Body[Field] | undefined };

/** A request in the terms of the model. */
export interface Asked {
  id: number;
  body: { [field: string]: unknown };
  query: URLSearchParams;
  view: View;
  met: Preconditions;
  /** With the API key that it belongs to. */
  key: string | undefined;
  /** That it came with, if any. */
  token: { customer: string; maxPlaced: number } | undefined;
}

export interface Kind {
  /** How often a program makes the call, compared with the others. */
  weight: number;
  prepare: (call: Omit<Call, "client">) => Prepared;
}

export interface Simulated extends Kind {
  /** The answer of the model at a time. That of a list is all its items, of which the request gets a page. */
  answer: ((asked: Asked, model: Model, at: number) => Answer | string[]) | "judged elsewhere";
}

export const STATUSES = ["available", "pending", "sold"] as const;

export const nameOf = (random: Random) =>
  random.chance(0.3)
    ? random.pick(Object.values(SCRIPTS))[0]
    : random.pick(["Rex", "Émile 🐍", 'a"b\\c', "Wolfeschlegelsteinhausen", `Animal ${random.between(1, 40)}`]);
/** Of these some find none, and some have a word that its first 16 characters do not tell apart. */
const TEXTS = ["re", "EMIL", "b", "animal", "animal 1", "3 an", "", "wolfeschlegelsteinh", "wolfeschlegelsteinx"];
/** A text that searches names. */
export const textOf = (random: Random) =>
  random.pick(random.chance(0.6) ? TEXTS : Object.values(SCRIPTS).flatMap(([, ...texts]) => texts));
export const categoryOf = (random: Random) =>
  random.pick([1n, 2n, 3n, BigInt(random.between(1, 12)), 2n ** 63n - 1n, -(2n ** 53n) - 1n]);
/** A place of the feed that a client knows, its end or its start. */
export const cursorOf = (random: Random, known: Known) =>
  random.chance(0.8) && known.cursors.length > 0
    ? random.pick(random.chance(0.5) ? known.cursors.slice(-5) : known.cursors)
    : random.pick(["latest", undefined]);
export const referenceOf = (random: Random) => random.pick(["cart 1", "Émile 🐍", 'a"b\\c', "%41+&"]);

/** So few that imports meet. */
export const externalIdOf = (random: Random) => `SKU-${random.between(1, 25)}`;

/** How often a body names a field that it may lack, and a value. Any other field of the document is a text of `referenceOf`. */
const DRAWS: { [field: string]: readonly [share: number, valueOf: (random: Random) => unknown] } = {
  name: [0.5, nameOf],
  categoryId: [0.3, categoryOf],
  status: [0.4, (random) => random.pick(STATUSES)],
  externalId: [0.15, externalIdOf],
  description: [0.5, (random) => random.pick(["", "first", 'a"\\'])],
};
/** A body with fields of a schema. */
export const bodyOf = (random: Random, schema: Fields): { [field: string]: unknown } =>
  Object.fromEntries(
    Object.entries(schema).flatMap(([field, kinds]) => {
      const [share, valueOf] = DRAWS[field] ?? [0.2, referenceOf];
      if (kinds.includes("undefined") && !random.chance(share)) return [];
      return [[field, kinds.includes("null") && random.chance(0.5) ? null : valueOf(random)]];
    }),
  );

/** At, after or before the time of an order that a client knows. */
const timeOf = (random: Random, { times }: Known) =>
  times.length > 0 && random.chance(0.3)
    ? new Date(Date.parse(random.pick(times)) + random.pick([0, 0, 1, -5_000])).toISOString()
    : undefined;
export const placedWithin = (random: Random, known: Known) => ({
  createdAfter: timeOf(random, known),
  createdBefore: timeOf(random, known),
});

export const maxAge = (random: Random) => (random.chance(0.4) ? { maxAge: random.pick([1, 5, 60, 600]) } : {});
export const sort = (random: Random) => (random.chance(0.3) ? { sort: "-id" as const } : {});
export const etags = (random: Random) => (random.chance(0.2) ? { etags: true as const } : {});

/** Pages that a program fetches at most. */
const MAX_PAGES = 5;

export async function walk<Item>(list: List<Item>): Promise<void> {
  let page: Page<Item> | undefined = await list.page();
  for (let pages = 1; page !== undefined && pages < MAX_PAGES; pages++) page = await page.next();
}

/** A resource to change, with the version that it has to have, if any. */
export function target({ random, known }: Omit<Call, "client">, resource: Resource): { id: bigint; ifMatch?: string } {
  const id = known.id(random, resource);
  const isVersioned = random.chance(0.4);
  const ifMatch = `"${known.version(random, resource, id)}"`;
  return { id: BigInt(id), ...(isVersioned && { ifMatch }) };
}

interface ReadOptions {
  maxAge?: number;
  ifNoneMatch?: string | undefined;
}

/** A read of one resource. */
export const fetching =
  (
    resource: Resource,
    get: (client: Call["client"], id: bigint, options: ReadOptions) => Promise<unknown>,
  ): Kind["prepare"] =>
  ({ random, known }) => {
    const id = known.id(random, resource);
    const ifNoneMatch = random.chance(0.3) ? { ifNoneMatch: `"${known.version(random, resource, id)}"` } : {};
    const age = maxAge(random);
    return (client) => get(client, BigInt(id), { ...ifNoneMatch, ...age });
  };

/** A removal of one resource. */
export const removing =
  (
    resource: Resource,
    remove: (client: Call["client"], id: bigint, versions: { ifMatch?: string }) => Promise<unknown>,
  ): Kind["prepare"] =>
  (call) => {
    const { id, ...versions } = target(call, resource);
    return (client) => remove(client, id, versions);
  };

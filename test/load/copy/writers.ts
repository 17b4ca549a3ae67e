import { randomUUID } from "node:crypto";
import { setTimeout as wait } from "node:timers/promises";
import { MAX_BATCH } from "../../../src/pets/batch.ts";
import { PET_STATUSES } from "../../../src/pets/table.ts";

/** Connections that change the store at the same time. */
const CONNECTIONS = 16;
/** A key has a thousand requests a minute. */
export const CHANGES_PER_KEY = 1_000;
/** Milliseconds after which a response counts as lost. */
export const PATIENCE = 2_000;
/** Milliseconds after a lost response. */
const PAUSE = 50;
/** Attempts with one key. */
const ATTEMPTS = 5;
/** As many resources of a kind are remembered, so that changes meet. */
const REMEMBERED = 200;

interface Kind {
  share: number;
  make: (known: Known) => { method: string; path: string; body?: object | string };
}

/** The ids of resources that may exist, as digits. */
interface Known {
  pets: string[];
  categories: string[];
  orders: string[];
}

const pick = <Item>(items: readonly Item[]): Item | undefined => items[Math.floor(Math.random() * items.length)];
const chance = (share: number) => Math.random() < share;
/** Categories that a `number` would round, and some that exist. */
const categoryOf = (known: Known) =>
  (chance(0.02) ? pick(known.categories) : undefined) ??
  `${chance(0.5) ? "-" : ""}${2n ** 62n + BigInt(Math.floor(Math.random() * 9))}`;
const newPet = (known: Known) => `{"name":"${randomUUID()} \\u00e4\\ud83d\\udc15","categoryId":${categoryOf(known)}}`;
const pet = (known: Known) => `/v1/pets/${pick(known.pets) ?? 1}`;
const category = (known: Known) => `/v1/categories/${pick(known.categories) ?? 1}`;
const order = (known: Known) => `/v1/store/orders/${pick(known.orders) ?? 1}`;

/** Every kind of change. Some of the requests change nothing, or are refused. */
const KINDS: Record<string, Kind> = {
  "animal created": { share: 14, make: (known) => ({ method: "POST", path: "/v1/pets", body: newPet(known) }) },
  "animals created": {
    share: 14,
    make: (known) => ({
      method: "POST",
      path: "/v1/pets/batch",
      body: `[${Array.from({ length: 1 + Math.floor(Math.random() * MAX_BATCH) }, () => newPet(known)).join()}]`,
    }),
  },
  "animal patched": {
    share: 25,
    make: (known) => ({ method: "PATCH", path: pet(known), body: { status: pick(PET_STATUSES) } }),
  },
  "animals patched": {
    share: 25,
    make(known) {
      const ids = new Set(Array.from({ length: 4 }, () => pick(known.pets) ?? "1"));
      const version = chance(0.2) ? `,"version":${1 + Math.floor(Math.random() * 3)}` : "";
      return {
        method: "PATCH",
        path: "/v1/pets/batch",
        body: `[${Array.from(ids, (id) => `{"id":${id},"name":"${randomUUID()}"${version}}`).join()}]`,
      };
    },
  },
  "animal moved": {
    share: 10,
    make: (known) => ({ method: "PATCH", path: pet(known), body: `{"categoryId":${categoryOf(known)}}` }),
  },
  "animal deleted": { share: 8, make: (known) => ({ method: "DELETE", path: pet(known) }) },
  "category created": {
    share: 5,
    make: () => ({
      method: "POST",
      path: "/v1/categories",
      body: { name: `${Math.floor(Math.random() * 200)}`, ...(chance(0.5) && { description: "" }) },
    }),
  },
  "category patched": {
    share: 5,
    make: (known) => ({
      method: "PATCH",
      path: category(known),
      body: { description: chance(0.3) ? null : `${Math.floor(Math.random() * 3)}` },
    }),
  },
  "category deleted": { share: 10, make: (known) => ({ method: "DELETE", path: category(known) }) },
  "order placed": {
    share: 15,
    make: (known) => ({
      method: "POST",
      path: "/v1/store/orders",
      body: `{"petId":${pick(known.pets) ?? 1},"reference":"cart"}`,
    }),
  },
  "order shipped": {
    share: 6,
    make: (known) => ({ method: "PATCH", path: order(known), body: { status: "shipped" } }),
  },
  "order cancelled": { share: 6, make: (known) => ({ method: "DELETE", path: order(known) }) },
};
const LOTS = Object.entries(KINDS).flatMap(([name, { share }]) => Array<string>(share).fill(name));

/** What the changes of a store came to. */
export interface Written {
  requests: number;
  /** Resources that were created, changed or deleted by requests whose response arrived. */
  changes: number;
  /** Such requests of each kind. */
  successes: Record<string, number>;
  /** The kinds that never succeeded. */
  missing: string[];
  replayed: number;
  lost: number;
}

/**
 * Changes the store at random, until so many resources are changed. Half of the creations and patches have an
 * `Idempotency-Key`: after a lost response, they are sent again.
 *
 * @param keys are used in turn.
 * @param onChange is told the number of changes after each success.
 */
export async function writeAtRandom(
  base: URL,
  keys: readonly string[],
  count: number,
  onChange: (changes: number) => void = () => {},
): Promise<Written> {
  const known: Known = { pets: [], categories: [], orders: [] };
  const written: Written = { requests: 0, changes: 0, successes: {}, missing: [], replayed: 0, lost: 0 };

  async function send(path: string, method: string, headers: Record<string, string>, body: string | undefined) {
    written.requests++;
    try {
      const response = await fetch(new URL(path, base), {
        method,
        headers: { ...headers, "Content-Type": "application/json" },
        ...(body === undefined ? {} : { body }),
        signal: AbortSignal.timeout(PATIENCE),
      });
      const text = await response.text();
      // A body that was cut is a lost response.
      if (text !== "") JSON.parse(text);
      if (response.status >= 500 || response.status === 429) return undefined;
      return { response, text };
    } catch {
      return undefined;
    }
  }

  async function change(): Promise<void> {
    const name = pick(LOTS) ?? "";
    const { method, path, body } = KINDS[name]?.make(known) ?? { method: "GET", path: "/" };
    const headers: Record<string, string> = { Authorization: `Bearer ${keys[written.requests % keys.length]}` };
    if (method !== "DELETE" && chance(0.5)) headers["Idempotency-Key"] = randomUUID();
    if (method === "PATCH" && name !== "animals patched" && chance(0.2))
      headers["If-Match"] = `"${1 + Math.floor(Math.random() * 3)}"`;
    const content = typeof body === "object" ? JSON.stringify(body) : body;
    let received;
    for (let attempt = 0; attempt < (headers["Idempotency-Key"] ? ATTEMPTS : 1); attempt++) {
      received = await send(path, method, headers, content);
      if (received !== undefined) break;
      written.lost++;
      await wait(PAUSE);
    }
    if (!received?.response.ok) return;
    if (received.response.headers.get("Idempotency-Replayed") === "true") written.replayed++;
    const ids = Array.from(received.text.matchAll(/"id":(\d+)/g), ([, id = ""]) => id);
    if (method === "POST") {
      const list = known[path.includes("orders") ? "orders" : path.includes("categories") ? "categories" : "pets"];
      list.push(...ids);
      list.splice(0, list.length - REMEMBERED);
    }
    written.successes[name] = (written.successes[name] ?? 0) + 1;
    written.changes += name.startsWith("animals") ? ids.length : name.startsWith("order") ? 2 : 1;
    onChange(written.changes);
  }

  await Promise.all(
    Array.from({ length: CONNECTIONS }, async () => {
      while (written.changes < count) await change();
    }),
  );
  written.missing = Object.keys(KINDS).filter((name) => written.successes[name] === undefined);
  return written;
}

import type { Int64 } from "../../src/exact/int64.ts";
import { encodeCursor } from "../../src/http/cursor.ts";
import { bookmarkOf } from "./d1.ts";
import { EVENT_TYPES } from "../../src/feed/table.ts";
import { encodeEventCursor } from "../../src/feed/place.ts";
import { categoryOf, cursorOf, nameOf, referenceOf, textOf } from "../../register/simulated.ts";
import type { Known, Resource } from "./known.ts";
import type { Random } from "./random.ts";
// oxlint-disable-next-line import/no-unassigned-import -- adds what Node.js lacks
import "./workerd.ts";

/** A request of a client that sends what it likes. */
export interface Rough {
  method: string;
  path: string;
  headers: { [name: string]: string };
  body?: string;
  /** The status of a request that every state of the database refuses. */
  refusal?: number;
}

const STATUSES = ["available", "pending", "sold"];
const RESOURCES = ["pets", "categories", "store/orders"] as const;
/** A cursor of the other order. */
const ASCENDING = encodeCursor({ after: "1" as Int64, sort: "id" });
const JSON_TYPE = { "Content-Type": "application/json" };

const KINDS: { [name: string]: { weight: number; make: (random: Random, known: Known, state: number) => Rough } } = {
  "create without a key, or with one that others use": {
    weight: 8,
    make(random, known) {
      const pet = () => `{"name":${JSON.stringify(nameOf(random))},"categoryId":${categoryOf(random)}}`;
      const [path, body] = random.pick([
        ["pets", pet()],
        ["pets/batch", `[${pet()},${pet()}]`],
        ["categories", JSON.stringify({ name: nameOf(random) })],
        ["store/orders", `{"petId":${known.id(random, "pets")}}`],
        ["store/orders", `{"petId":${known.id(random, "pets")},"reference":${JSON.stringify(referenceOf(random))}}`],
      ] as const);
      return { method: "POST", path: `/v1/${path}`, headers: { ...JSON_TYPE, ...keyOf(random) }, body };
    },
  },
  "change under conditions": {
    weight: 8,
    make(random, known) {
      const resource = random.pick(RESOURCES);
      const id = known.id(random, resource);
      const body = {
        pets: { status: random.pick(STATUSES) },
        categories: { name: nameOf(random) },
        "store/orders": random.pick([
          { status: "shipped" },
          { reference: random.pick([null, referenceOf(random)]) },
          { status: "shipped", reference: referenceOf(random) },
        ]),
      }[resource];
      return {
        method: "PATCH",
        path: `/v1/${resource}/${id}`,
        headers: { ...JSON_TYPE, ...keyOf(random), ...conditions(random, known, resource, id) },
        body: JSON.stringify(body),
      };
    },
  },
  "delete under conditions": {
    weight: 4,
    make(random, known) {
      const resource = random.pick(RESOURCES);
      const id = known.id(random, resource);
      return { method: "DELETE", path: `/v1/${resource}/${id}`, headers: conditions(random, known, resource, id) };
    },
  },
  "read at some bookmark, of some age": {
    weight: 14,
    make(random, known, state) {
      const resource = random.pick(RESOURCES);
      const id = known.id(random, resource);
      const path = random.pick([`${resource}/${id}`, `${resource}/${id}`, `${resource}?limit=${random.pick([2, 7])}`]);
      const bookmark = bookmarkOf(random.chance(0.3) ? state + 1_000_000 : random.between(0, state));
      return {
        method: "GET",
        path: `/v1/${path}`,
        headers: {
          ...(random.chance(0.5) && { "x-d1-bookmark": bookmark }),
          ...(random.chance(0.5) && {
            "Cache-Control": random.pick(["max-age=1", "max-age=60", "max-age=600", "no-cache"]),
          }),
          ...(random.chance(0.3) && conditions(random, known, resource, id)),
        },
      };
    },
  },
  "search from some place": {
    weight: 14,
    make(random, known, state) {
      const filter = random.weighted({ "": 5, "&status=available": 1, "&categoryId=2": 1 });
      const limit = random.pick([1, 2, 5, 30]);
      const order = random.pick(["id", "-id"] as const);
      const from = encodeCursor({ after: String(known.id(random, "pets")) as Int64, sort: order });
      const cursor = random.chance(0.4) ? `&cursor=${from}` : "";
      return {
        method: "GET",
        path: `/v1/pets?q=${encodeURIComponent(textOf(random))}&limit=${limit}&sort=${order}${cursor}${filter}`,
        headers: random.chance(0.2) ? { "x-d1-bookmark": bookmarkOf(random.between(0, state)) } : {},
      };
    },
  },
  "follow the feed from places that nobody may have": {
    weight: 4,
    make(random, known, state) {
      const remembered = cursorOf(random, known);
      const id = random.chance(0.8) ? random.between(0, state + 5) : random.pick([2 ** 31, -1]);
      const made = encodeEventCursor(BigInt.asUintN(64, BigInt(id)).toString(16).padStart(16, "0") + random.hex(8));
      const cursor = random.weighted({ remembered: 6, made: 3, none: 2 });
      const types = EVENT_TYPES.filter(() => random.chance(0.2)).map((type) => ["type", type]);
      const query = new URLSearchParams([["limit", String(random.between(1, 5))], ...types]);
      const place = { remembered, made, none: undefined }[cursor];
      if (place !== undefined) query.set("cursor", place);
      const bookmark = bookmarkOf(random.chance(0.3) ? state + 1_000_000 : random.between(0, state));
      return {
        method: "GET",
        path: `/v1/events?${query.toString()}`,
        headers: random.chance(0.3) ? { "x-d1-bookmark": bookmark } : {},
      };
    },
  },
  "change several": {
    weight: 5,
    make(random, known) {
      const ids = Array.from({ length: random.between(1, 4) }, () => known.id(random, "pets"));
      const isUnique = new Set(ids).size === ids.length;
      const body = ids.map((id) => ({
        id,
        ...(random.chance(0.4) && { version: known.version(random, "pets", id) }),
        ...(random.chance(0.3) ? { name: nameOf(random) } : { status: random.pick(STATUSES) }),
      }));
      const tags = random.chance(0.05) ? { "If-Match": "*" } : {};
      return {
        method: "PATCH",
        path: "/v1/pets/batch",
        headers: { ...JSON_TYPE, ...keyOf(random), ...tags },
        body: JSON.stringify(body),
        ...((!isUnique || "If-Match" in tags) && { refusal: 400 }),
      };
    },
  },
  nonsense: {
    weight: 3,
    make(random) {
      const post = { method: "POST", path: "/v1/pets", headers: JSON_TYPE };
      return random.pick<Rough>([
        { ...post, body: '{"name":', refusal: 400 },
        { ...post, body: '{"name":"","categoryId":1}', refusal: 400 },
        { ...post, body: `"${"x".repeat(70_000)}"`, refusal: 413 },
        { ...post, body: "{}", headers: { "Content-Type": "text/plain" }, refusal: 415 },
        { ...post, method: "PUT", body: "{}", refusal: 405 },
        { method: "GET", path: "/v1/pets?limit=0", headers: {}, refusal: 400 },
        { method: "GET", path: `/v1/pets?sort=-id&cursor=${ASCENDING}`, headers: {}, refusal: 400 },
        { method: "GET", path: "/v1/store/orders?petId=1&reference=a", headers: {}, refusal: 400 },
        { method: "GET", path: "/v1/pets/01", headers: {}, refusal: 404 },
        { method: "GET", path: `/v1/events?cursor=${"0".repeat(32)}`, headers: {}, refusal: 400 },
        { method: "GET", path: "/v1/events?type=pet.sold", headers: {}, refusal: 400 },
        { method: "GET", path: "/v1/pets", headers: { "x-d1-bookmark": "newest" }, refusal: 400 },
        { method: "DELETE", path: "/v1/pets/1", headers: { "If-Match": "1" }, refusal: 400 },
        { method: "GET", path: "/v1/pets", headers: { Authorization: "Bearer wrong" }, refusal: 401 },
        { method: "GET", path: "/v1/nothing", headers: {}, refusal: 404 },
      ]);
    },
  },
};

export function roughRequest(random: Random, known: Known, state: number): Rough {
  const weights = Object.fromEntries(Object.entries(KINDS).map(([name, { weight }]) => [name, weight]));
  const kind = KINDS[random.weighted(weights)];
  if (kind === undefined) throw new Error("There is no such kind");
  return kind.make(random, known, state);
}

const keyOf = (random: Random): { [name: string]: string } =>
  random.chance(0.6) ? { "Idempotency-Key": random.pick([..."abcdefgh"]) } : {};

function conditions(random: Random, known: Known, resource: Resource, id: number): { [name: string]: string } {
  const tag = () => `${random.chance(0.3) ? "W/" : ""}"${known.version(random, resource, id)}"`;
  const tags = () => (random.chance(0.1) ? "*" : random.chance(0.2) ? `${tag()}, ${tag()}` : tag());
  return {
    ...(random.chance(0.4) && { "If-Match": tags() }),
    ...(random.chance(0.15) && { "If-None-Match": tags() }),
  };
}

import type { Exchange } from "./history.ts";
import type { Random } from "./random.ts";

export type Resource = "pets" | "categories" | "store/orders";

/** Ids of each resource that clients remember. */
const REMEMBERED = 60;
/** Requests that meet are for the newest ids, mostly. */
const HOT = 4;

/** What clients have heard of the store. */
export class Known {
  readonly #ids: { [resource in Resource]: number[] } = { pets: [], categories: [], "store/orders": [] };
  /** By resource and id. */
  readonly #versions = new Map<string, number>();

  /** Cursors of the feed. */
  readonly cursors: string[] = [];
  /** Of orders. */
  readonly times: string[] = [];

  hear({ path, status = 0, responseHeaders, text = "" }: Exchange): void {
    const [, cursor] = (path.startsWith("/v1/events") && /"cursor":"(\w+)"/.exec(text.slice(-60))) || [];
    if (cursor !== undefined && this.cursors.push(cursor) > REMEMBERED) this.cursors.shift();
    const resource = /^\/v1\/(pets|categories|store\/orders)\b/.exec(path)?.[1] as Resource | undefined;
    if (resource === undefined || status >= 300) return;
    const time = /"createdAt":"([^"]+)"/.exec(text.slice(0, 200))?.[1];
    if (time !== undefined && this.times.push(time) > REMEMBERED) this.times.shift();
    const ids = this.#ids[resource];
    for (const [, digits] of text.slice(0, 2_000).matchAll(/\{"id":(\d+)/g)) {
      const id = Number(digits);
      if (!ids.includes(id)) ids.push(id);
      if (ids.length > REMEMBERED) ids.shift();
    }
    const version = /^"(\d+)"$/.exec(responseHeaders?.get("ETag") ?? "")?.[1];
    const id = /^\{"id":(\d+)/.exec(text)?.[1];
    if (version !== undefined && id !== undefined) this.#versions.set(`${resource} ${id}`, Number(version));
  }

  id(random: Random, resource: Resource): number {
    const ids = this.#ids[resource];
    if (ids.length === 0 || random.chance(0.02)) return random.between(1, 5);
    return random.pick(random.chance(0.7) ? ids.slice(-HOT) : ids);
  }

  /** A version that the resource has, or one near it. */
  version(random: Random, resource: Resource, id: number): number {
    const version = this.#versions.get(`${resource} ${id}`) ?? 1;
    return random.chance(0.8) ? version : Math.max(1, version + random.between(-1, 1));
  }
}

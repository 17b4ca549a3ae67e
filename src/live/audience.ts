import type { Scope } from "../auth/scopes.ts";
import { encodeEventCursor } from "../feed/place.ts";
import { resourceOf } from "../feed/table.ts";
import { MAX_LIMIT } from "../http/paging.ts";

/** Bytes of the events of a page. With the rest of it, they stay below 32 KiB, more than which some libraries take only when told to. */
const PAGE_BYTES = 32_000;

export const utf8 = new TextEncoder();

/** What a listener may see and wants, and what ends it. Survives the hibernation of its hub, which keeps 2,048 bytes of each socket. */
export interface Audience {
  /** Types, or resources with their dot. */
  types: readonly string[];
  /** The id of its key, for the limit of listeners. */
  keyId: string;
  /** The SHA-256 of the key, in hexadecimal. */
  keyHash: string;
  /** The customer whose orders alone it sees. Null for the key itself. */
  customer: string | null;
  /** What its key has to have for as long as it listens. */
  scopes: readonly Scope[];
  /** In milliseconds since the epoch. Null for one that does not end. */
  until: number | null;
}

/** An event with what decides who sees it. */
export interface Item {
  place: string;
  type: string;
  /** The customer of the order after the change. */
  customer: string | null;
  /** As clients see it, as JSON. Null for a row that nobody sees. */
  event: string | null;
}

/** Whether the listener may see the event, and wants it. An order is what its own event says, whatever came before or after. */
export function sees({ types, customer }: Pick<Audience, "types" | "customer">, item: Item): boolean {
  const resource = resourceOf(item.type);
  if (item.event === null || !(types.includes(item.type) || types.includes(resource))) return false;
  return customer === null || resource !== "order." || item.customer === customer;
}

/** A page of `listEvents`, as JSON, with its cursor and its length in UTF-8. */
export interface Page {
  cursor: string;
  text: string;
  bytes: number;
}

/**
 * The events as pages: none without an event.
 *
 * @param end the place after them, which may be later than that of the last one.
 * @param more what each page but the last says.
 */
export function pagesOf(items: readonly Item[], end: string, bookmark: string | undefined, more = false): Page[] {
  const pages: Page[] = [];
  let [events, bytes, place]: [string[], number, string] = [[], 0, end];
  for (const item of items) {
    const event = item.event ?? "";
    const size = utf8.encode(event).length;
    if (events.length === MAX_LIMIT || (bytes > 0 && bytes + size > PAGE_BYTES)) {
      pages.push(pageOf(events, place, bookmark, more));
      [events, bytes] = [[], 0];
    }
    events.push(event);
    bytes += size;
    ({ place } = item);
  }
  if (events.length > 0) pages.push(pageOf(events, end, bookmark));
  return pages;
}

/** One page. */
export function pageOf(events: readonly string[], place: string, bookmark: string | undefined, more = false): Page {
  const cursor = encodeEventCursor(place);
  const known = bookmark === undefined ? "" : `,"bookmark":"${bookmark}"`;
  const text = `{"events":[${events.join()}],"cursor":"${cursor}","more":${more}${known}}`;
  return { cursor, text, bytes: utf8.encode(text).byteLength };
}

import { expect } from "vitest";
import { encodeEventCursor } from "../../src/feed/place.ts";
import type { EventPage, PetStoreEvent } from "../../src/feed/event.ts";
import { type Call, call, expectJson } from "../support/client.ts";

export const FEED = "/v1/events";

export async function page(key: string, query = "", more: Call = {}): Promise<EventPage> {
  return (await expectJson(await call(`${FEED}?${query}`, { key, ...more }), 200)) as EventPage;
}

/** The cursor of the present end. */
export async function latest(key: string): Promise<string> {
  const { events, cursor, more } = await page(key, "cursor=latest");
  expect([events, more]).toEqual([[], false]);
  return cursor;
}

/** All events after the cursor. */
export async function since(key: string, cursor: string, query = ""): Promise<PetStoreEvent[]> {
  const found: PetStoreEvent[] = [];
  for (let more = true; more;) {
    const next = await page(key, `cursor=${cursor}&${query}`);
    found.push(...next.events);
    ({ cursor, more } = next);
  }
  return found;
}

/** A change with the events that it leaves. */
export async function eventsOf(key: string, change: () => Promise<Response>) {
  const cursor = await latest(key);
  const response = await change();
  return { response, events: await since(key, cursor) };
}

/** The parts of an event that a test can know before. */
export const known = ({ type, version, data }: PetStoreEvent) => [type, version, data];

const hex = (value: bigint, digits: number) => BigInt.asUintN(64, value).toString(16).padStart(digits, "0");

/** A cursor with a correct checksum for any place. */
export const cursorAt = (id: bigint, tag: bigint) => encodeEventCursor(hex(id, 16) + hex(tag, 8));

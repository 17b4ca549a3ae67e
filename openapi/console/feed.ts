// The feed: what happened, the newest first, and what happens now. Other views read it too.
import { html, nothing } from "lit-html";
import type { EventPage, EventType, PetStoreError, PetStoreEvent } from "../../client/src/index.ts";
import { addressOf, asks, button, fail, filters, time, update } from "./page.ts";
import { may, store } from "./session.ts";
import { AT_ONCE, listOf, type View } from "./table.ts";

/** Each type in words. */
export const WORDS: Record<EventType, string> = {
  "pet.created": "Animal added",
  "pet.updated": "Animal changed",
  "pet.deleted": "Animal deleted",
  "category.created": "Category added",
  "category.updated": "Category changed",
  "category.deleted": "Category deleted",
  "order.placed": "Order placed",
  "order.shipped": "Order shipped",
  "order.cancelled": "Order cancelled",
  "order.updated": "Order changed",
};
/** Requests that a view makes for the past, until somebody reads on. */
const MAX_REQUESTS = 50;

/** What was read, with the place in the feed before the page of an event, and how many of the page come before it. */
const read = new Map<string, { event: PetStoreEvent; place: string | undefined; index: number }>();
/** How far the feed was read, from the oldest event on, with the last event before that place. */
let [place, last]: [string | undefined, PetStoreEvent | undefined] = [undefined, undefined];
export let reading: "goes on" | "stopped" | "ended" = "stopped";
let [readings, shown, newest] = [0, AT_ONCE, ""];

/** It has the events that the key may read. */
export const mayReadFeed = () => may("events:read") && (may("pets:read") || may("store:read"));
export const eventOf = (id: string): PetStoreEvent | undefined => read.get(id)?.event;
/** What was read without a gap, from the oldest event on. */
export const past = () => all().filter(({ id }) => last !== undefined && id <= last.id);

/** What was read, in the order of the changes. New events stand behind a gap until the past is read to its end. */
const all = () => [...read.values()].map(({ event }) => event).toSorted((a, b) => (a.id < b.id ? -1 : 1));

export const feed: View = {
  title: "Feed",
  isAllowed: mayReadFeed,
  async open(signal) {
    [shown, newest] = [AT_ONCE, ""];
    // The present end comes first, so that nothing is missed between it and the past.
    const { cursor } = await store.events.list({ cursor: "latest", signal });
    follow(cursor, signal).catch(fail);
    await readFeed(signal);
  },
  view() {
    const events = all().filter(isWanted).toReversed();
    const empty = reading === "goes on" ? "Reading the feed …" : "Nothing happened, as far as the feed was read.";
    const more = () => void (shown += AT_ONCE);
    return html`
      ${filters("Number of an animal", "animal", [["Type", "type", Object.entries(WORDS)]])}
      <p class="live">New events appear here by themselves. <span role="status">${newest}</span></p>
      ${listOf(events.slice(0, shown), rowOf, empty)}
      ${events.length > shown ? button("more", `Show ${AT_ONCE} more`, more) : nothing}
      ${restOfFeed()}
    `;
  },
};

/** @param from the place before the page. */
function take({ events }: EventPage, from: string | undefined): void {
  for (const [index, event] of events.entries()) read.set(event.id, { event, place: from, index });
  update();
}

/** Reads on in the feed, for some requests or to its end. It may take turns with another reading: the later one tells how it ended. */
export async function readFeed(signal?: AbortSignal, requests = MAX_REQUESTS): Promise<void> {
  const own = ++readings;
  let more = true;
  reading = "goes on";
  try {
    for (let request = 0; more && request < requests; request++) {
      const from = place;
      const page = await store.events.list({ cursor: from, signal });
      take(page, from);
      [place, last, more] = [page.cursor, page.events.at(-1) ?? last, page.more];
    }
  } catch (error) {
    // The service keeps events for some days: a later reading begins with the oldest one.
    if ((error as PetStoreError).code === "cursor_expired") {
      read.clear();
      [place, last] = [undefined, undefined];
    }
    throw error;
  } finally {
    if (own === readings) reading = more ? "stopped" : "ended";
    update();
  }
}

async function follow(from: string, signal: AbortSignal): Promise<void> {
  // In milliseconds.
  const idle = () => (document.hidden ? 30_000 : 2_000);
  for await (const page of store.events.follow({ cursor: from, signal, idle, onReset: () => {} })) {
    newest = page.events.filter(isWanted).map(textOf).at(-1) ?? newest;
    take(page, from);
    from = page.cursor;
  }
}

/** Says when not all was read. */
export const restOfFeed = () =>
  reading === "stopped"
    ? html`<p><b>This is not all</b>: the feed is read up to ${last ? time(last.timestamp) : "no event yet"}. ${button("read-on", "Read on", () => readFeed())}</p>`
    : nothing;

/** Whether the feed has no place before an event, as far as it was read. */
export const isOldest = (id: string) => read.get(id)?.place === undefined && read.get(id)?.index === 0;

/** The place in the feed before an event that was read. For the oldest one, it is after it. */
export async function placeBefore(id: string): Promise<string> {
  const { place, index = 0 } = read.get(id) ?? {};
  if (place !== undefined && index === 0) return place;
  return (await store.events.list({ cursor: place, limit: Math.max(1, index) })).cursor;
}

/** The animal that an event is about. */
function animalOf({ type, data }: PetStoreEvent): bigint | undefined {
  const { id, petId } = data as { id: bigint; petId?: bigint };
  return petId ?? (type.startsWith("pet.") ? id : undefined);
}

function isWanted(event: PetStoreEvent): boolean {
  const [type, animal] = [asks("type"), asks("animal").replace(/^#/, "")];
  return ["", event.type].includes(type) && (animal === "" || String(animalOf(event)) === animal);
}

/** What an event says: "Order placed: order 12, placed, animal 17". */
export function textOf({ type, data }: PetStoreEvent): string {
  const { id, name, status, ...other } = data as Record<string, bigint | string | undefined>;
  const { petId: animal, categoryId: category, reference, customer } = other;
  const [of = ""] = type.split(".");
  const more = { pet: { category }, order: { animal, reference, customer } }[of];
  const about = Object.entries({ [of === "pet" ? "animal" : of]: id, ...more });
  const said = about.flatMap(([label, value]) => (value === undefined ? [] : `${label} ${value}`));
  return `${WORDS[type as EventType] ?? type}: ${[...said, name, status].filter(Boolean).join(", ")}`;
}

function rowOf(event: PetStoreEvent) {
  const animal = animalOf(event);
  const link = html`<a href=${addressOf("feed", { animal })} aria-label="History of animal ${animal}">History</a>`;
  return html`<li>
    <div>${textOf(event)} ${animal === undefined || asks("animal") !== "" ? nothing : link}<p>${time(event.timestamp)} · version ${event.version} · <code>${event.id}</code></p></div>
  </li>`;
}

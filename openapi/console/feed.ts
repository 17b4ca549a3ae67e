// The feed: what happened, the newest first, and what happens now. Other views read it too.
import { html, nothing } from "lit-html";
import type { EventType, PetStoreError, PetStoreEvent } from "../../client/src/index.ts";
import { fetchCategories } from "./animals.ts";
import { addressOf, asks, button, choice, filters, time, update } from "./page.ts";
import { may, store } from "./session.ts";
import { AT_ONCE, listOf, type View } from "./table.ts";

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
export const wordsOf = (type: string): string => WORDS[type as EventType] ?? type;
const MAX_REQUESTS = 50;
const MAX_PRESENT = 1_000;
/** What was read without a gap, from the oldest event on, each event with the place before its page. */
export let past: (PetStoreEvent & { before: string | undefined })[] = [];
/** How far that is, whether it is the end, and the reading that goes on. */
let [place, reading]: [string?, Promise<void>?] = [];
export let isAll = false;
/** What happened since the page was opened, the newest of it. It stands behind a gap until the past is read to its end. */
const present: PetStoreEvent[] = [];
/** What an animal or a category is called last, by "animal 17". */
export const names = new Map<string, string>();
const begun = Promise.withResolvers<void>();
let [shown, newest] = [AT_ONCE, ""];
/** It has the events that the key may read. */
export const mayReadFeed = () => may("events:read") && (may("pets:read") || may("store:read"));
export const allRead = () => new Map([...past, ...present].map((event) => [remember(event).id, event]));

export const feed: View = {
  title: "Feed",
  isAllowed: mayReadFeed,
  async open() {
    [shown, newest] = [AT_ONCE, ""];
    await Promise.all([readFeed(), may("pets:read") && fetchCategories()]);
  },
  view() {
    const events = [...allRead().values()].filter(isWanted).toSorted((a, b) => (a.id < b.id ? 1 : -1));
    const empty = reading ? "Reading the feed …" : "Nothing happened, as far as the feed was read.";
    const more = async () => void (shown += AT_ONCE);
    const last = past.at(-1);
    return html`${filters("Number of an animal", "animal", choice("Type", "type", [["", "all"], ...Object.entries(WORDS)]))}
      <p class="live">New events appear here by themselves. <span role="status">${newest}</span></p>
      ${listOf(events.slice(0, shown), rowOf, empty)} ${events.length > shown ? button("more", `Show ${AT_ONCE} more`, more) : nothing}
      ${reading || isAll ? nothing : html`<p><b>This is not all</b>: the feed is read up to ${last ? time(last.timestamp) : "no event yet"}. ${button("read-on", "Read on", () => readFeed())}</p>`}`;
  },
};

/**
 * Reads on in the past, for some requests or to its end, once at a time. The present end comes first, so that nothing is missed between it
 * and the past.
 */
export const readFeed = (requests = MAX_REQUESTS) =>
  (reading ??= begun.promise.then(() => readOn(requests)).finally(() => (reading = undefined)));
async function readOn(requests: number): Promise<void> {
  isAll = false;
  for (let request = 0; !isAll && request < requests; request++) {
    const before = place;
    const { events, cursor, more } = await store.events.list({ cursor: before }).catch((error: PetStoreError) => {
      // The service keeps events for some days: a later reading begins with the oldest one.
      if (error.code === "cursor_expired") [past, place] = [[], undefined];
      throw error;
    });
    past.push(...events.map((event) => ({ ...event, before })));
    [place, isAll] = [cursor, !more];
    update();
  }
}

/** Tells when something happened, as long as the page is open: over a socket, or by requests where none opens. */
export async function watch(tell: () => void): Promise<void> {
  const idle = () => (document.hidden ? 30_000 : 2_000);
  const onReset = () => (begun.resolve(), tell());
  for await (const { events } of store.events.follow({ cursor: "latest", live: true, idle, onReset })) {
    present.push(...events);
    // What falls out is in the past, once that is read on.
    if (present.splice(0, present.length - MAX_PRESENT).length > 0) isAll = false;
    newest = events.filter(isWanted).map(textOf).at(-1) ?? newest;
    update();
    tell();
  }
}

const kindOf = (type: string) => (type.startsWith("pet.") ? "animal" : type.split(".")[0]);
const called = (what: string, name = names.get(what)) => (name ? `${what} (${name})` : what);
function remember(event: PetStoreEvent): PetStoreEvent {
  const { id, name } = event.data as Record<string, string>;
  if (name) names.set(`${kindOf(event.type)} ${id}`, name);
  return event;
}

function animalOf({ type, data }: PetStoreEvent): bigint | undefined {
  const { id, petId } = data as { id: bigint; petId?: bigint };
  return petId ?? (type.startsWith("pet.") ? id : undefined);
}

function isWanted(event: PetStoreEvent): boolean {
  const [type, animal] = [asks("type"), asks("animal").replace(/^#/, "")];
  return ["", event.type].includes(type) && (animal === "" || String(animalOf(event)) === animal);
}

/** "Order placed: order 12, animal 17 (Ada), placed". */
export function textOf({ type, data }: PetStoreEvent): string {
  const { id, petId, categoryId, reference, customer, name, status } = data as Record<string, string>;
  const about = Object.entries({ animal: petId, category: categoryId, reference, customer });
  const said = about.flatMap(([label, value]) => (value === undefined ? [] : called(`${label} ${value}`)));
  return `${wordsOf(type)}: ${[called(`${kindOf(type)} ${id}`, name), ...said, status].filter(Boolean).join(", ")}`;
}

function rowOf(event: PetStoreEvent) {
  const animal = animalOf(event);
  return html`<li><div>${textOf(event)} ${animal === undefined || asks("animal") !== "" ? nothing : html`<a href=${addressOf("feed", { animal })} aria-label="History of ${called(`animal ${animal}`)}">History</a>`}
    <p>${time(event.timestamp)}</p></div></li>`;
}

// The feed: what happened, the newest first, and what happens now.
import { html, nothing, type TemplateResult } from "lit-html";
import { repeat } from "lit-html/directives/repeat.js";
import type { EventPage, EventType, PetStoreEvent } from "../../client/src/index.ts";
import { button, choice, fail, field, hashOf, submit, time, update, type View } from "./page.ts";
import { current, may } from "./session.ts";

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
/** Requests for events of the past, one after the other. */
const MAX_REQUESTS = 50;
const AT_ONCE = 100;
/** Milliseconds between two looks for new events. */
const [IN_FRONT, BEHIND] = [2_000, 30_000];

let filter = { type: "", animal: "" };
let events = new Map<string, PetStoreEvent>();
let shown = AT_ONCE;
let newest = "";
let isRead = false;
/** Where the past that was not read yet begins. */
let rest: string | undefined;
let typesOfFilter: EventType[] = [];

/** The types that the key may read. */
export const readable = () =>
  (Object.keys(WORDS) as EventType[]).filter((type) => may(type.startsWith("order.") ? "store:read" : "pets:read"));

export const mayReadFeed = () => may("events:read") && readable().length > 0;

export const feed: View = {
  title: "Feed",
  isAllowed: mayReadFeed,
  async open(query, signal) {
    filter = { type: query.get("type") ?? "", animal: query.get("animal") ?? "" };
    const isAsked = (type: string) => (filter.animal === "" ? true : !type.startsWith("category."));
    typesOfFilter = readable().filter((type) => (filter.type === "" ? isAsked(type) : type === filter.type));
    [events, shown, newest, rest, isRead] = [new Map(), AT_ONCE, "", undefined, false];
    const idle = () => (document.hidden ? BEHIND : IN_FRONT);
    const live = current().store.events.follow({
      cursor: "latest",
      types: typesOfFilter,
      signal,
      idle,
      onReset: () => {},
    });
    // The present end comes first, so that nothing is missed between it and the past.
    await live.next();
    follow(live).catch(fail);
    await readPast(signal);
    isRead = true;
  },
  view: () => html`
    <form class="filters" role="search" @submit=${submit((value) => go({ animal: value("animal").replace(/^#/, "") }))}>
      ${field("Number of an animal", html`<input type="search" inputmode="numeric" name="animal" pattern="#?-?[0-9]{1,19}" .value=${filter.animal} />`)}
      <button class="primary">Find</button>
      ${choice("Type", "type", [["", "all"], ...readable().map((type): [string, string] => [type, WORDS[type]])], filter.type, (type) => go({ type }))}
    </form>
    <p class="live">New events appear here by themselves. <span role="status">${newest}</span></p>
    <ol class="rows" reversed>${repeat(wanted().slice(0, shown), ({ id }) => id, rowOf)}</ol>
    ${wanted().length === 0 ? html`<p>${isRead ? "Nothing happened, as far as the feed goes back." : "Reading the feed …"}</p>` : nothing}
    ${wanted().length > shown ? button("more", `Show ${AT_ONCE} more`, () => void (shown += AT_ONCE)) : nothing}
    ${rest === undefined ? nothing : html`<p>This is not all: there are events between these and now. ${button("read-on", "Read on", () => readPast())}</p>`}
  `,
};

const go = (change: Partial<typeof filter>) => (location.hash = hashOf("feed", { ...filter, ...change }));

function take(page: PetStoreEvent[]): void {
  for (const event of page) events.set(event.id, event);
}

async function follow(live: AsyncIterable<EventPage>): Promise<void> {
  for await (const page of live) {
    if (page.events.length === 0) continue;
    take(page.events);
    newest = page.events.filter(isWanted).map(textOf).at(-1) ?? newest;
    update();
  }
}

async function readPast(signal?: AbortSignal): Promise<void> {
  rest = await walk({ types: typesOfFilter, cursor: rest, signal }, take);
}

/**
 * Reads events from a place on, or from the oldest on.
 *
 * @returns where it stopped after 50 requests, or undefined at the end.
 */
export async function walk(
  query: { types: EventType[]; cursor?: string | undefined; signal?: AbortSignal | undefined },
  onPage: (events: PetStoreEvent[], cursor: string) => void,
): Promise<string | undefined> {
  let { cursor } = query;
  for (let requests = 0; requests < MAX_REQUESTS; requests++) {
    const page = await current().store.events.list({ ...query, cursor });
    onPage(page.events, page.cursor);
    if (!page.more) return undefined;
    cursor = page.cursor;
    update();
  }
  return cursor;
}

/** The animal that an event is about. */
function animalOf({ type, data }: PetStoreEvent): bigint | undefined {
  const { id, petId } = data as { id: bigint; petId?: bigint };
  return petId ?? (type.startsWith("pet.") ? id : undefined);
}

const isWanted = (event: PetStoreEvent) => filter.animal === "" || String(animalOf(event)) === filter.animal;
const wanted = () => [...events.values()].filter(isWanted).toSorted((one, other) => (one.id < other.id ? 1 : -1));

/** What an event says: "Order placed: order 12 for animal 17". */
export function textOf(event: PetStoreEvent): string {
  const { id, name, status, petId, reference, customer } = event.data as Record<string, bigint | string | undefined>;
  const kind = event.type.split(".")[0]?.replace("pet", "animal");
  const more = [
    name,
    petId && `animal ${petId}`,
    kind !== "category" && status,
    reference && `reference ${reference}`,
    customer && `customer ${customer}`,
  ];
  return `${WORDS[event.type as EventType] ?? event.type}: ${[`${kind} ${id}`, ...more.filter(Boolean)].join(", ")}`;
}

function rowOf(event: PetStoreEvent): TemplateResult {
  const animal = animalOf(event);
  const link = html`<a href=${hashOf("feed", { animal: String(animal) })} aria-label="History of animal ${String(animal)}">History</a>`;
  return html`<li>
    <div>${textOf(event)} ${animal === undefined || filter.animal !== "" ? nothing : link}<p>${time(event.timestamp)} · version ${event.version} · <code>${event.id}</code></p></div>
  </li>`;
}

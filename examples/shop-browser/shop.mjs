// The page of the shop: visitors search, order, and see and cancel their own orders, and see at once what others buy. It asks the API
// itself, as the customer in its token.
import { PetStore, PetStoreError } from "@petstore/client";

const NOT_LOGGED_IN = new Error("Please log in.");
const CLOSED = new Error("The shop is closed for a moment.");

/** @template {Element} Kind @param {string} id @param {new () => Kind} kind @returns {Kind} */
function find(id, kind) {
  const element = document.getElementById(id);
  if (element instanceof kind) return element;
  throw new Error(`The page has no ${id}.`);
}
const [login, search] = [find("login", HTMLFormElement), find("search", HTMLFormElement)];
const [visitor, query] = [find("name", HTMLInputElement), find("q", HTMLInputElement)];
const [animals, orders] = [find("animals", HTMLElement), find("orders", HTMLElement)];
const [more, shop, message] = [find("more", HTMLElement), find("shop", HTMLElement), find("message", HTMLElement)];

/** @type {Promise<string> | undefined} */
let token;
async function fetchToken() {
  const response = await fetch("/token", { method: "POST" }).catch(() => undefined);
  if (!response?.ok) throw response?.status === 401 ? NOT_LOGGED_IN : CLOSED;
  return response.text();
}

const store = new PetStore({
  baseUrl: document.documentElement.dataset["api"] ?? "",
  // After a 401, with the token that the service refused. Requests that run at once share a token.
  async apiKey(refused) {
    const before = token;
    const known = await before?.catch(() => refused);
    if (token === before && known === refused) token = fetchToken();
    return token ?? "";
  },
  retry: { totalTime: 10_000 }, // Milliseconds.
}).session();

/** @type {Record<string, string>} */
const MESSAGES = {
  pet_not_available: "Somebody else was faster. Please choose another animal.",
  order_limit: "You have as many orders as you may. Cancel one first.",
  order_shipped: "This order is on its way already.",
};

/** @param {unknown} error */
function explain(error) {
  if (error === CLOSED) return CLOSED.message;
  if (error === NOT_LOGGED_IN || (error instanceof PetStoreError && error.code === "unauthorized")) {
    showShop(false);
    return NOT_LOGGED_IN.message;
  }
  if (!(error instanceof PetStoreError)) throw error;
  const { code, status, retryAfter, requestId } = error;
  if (code === "rate_limited") return `That was too fast. Please try again in ${retryAfter} seconds.`;
  // The order may be placed. The button has the same key still.
  if (status === undefined || status >= 500) return "The shop does not respond. Try again: you order nothing twice.";
  return MESSAGES[code] ?? `That did not work: ${code}, ${requestId}.`;
}

/** Does what a visitor asks for, and says what came of it. @param {() => Promise<string>} work */
async function act(work) {
  message.textContent = await work().catch(explain);
  // The button may be gone.
  if (document.activeElement === document.body) message.focus();
}

/** @param {boolean} isLoggedIn */
function showShop(isLoggedIn) {
  shop.hidden = !isLoggedIn;
  login.hidden = isLoggedIn;
}

/**
 * A line of a list, with a button if there is something to do. It is gone when that is done.
 *
 * @param {string} text @param {string} name of the button @param {() => Promise<string>} [work]
 */
function lineOf(text, name, work) {
  const line = document.createElement("li");
  line.append(text);
  if (work === undefined) return line;
  const button = document.createElement("button");
  button.append(name);
  button.setAttribute("aria-label", `${name} ${text}`);
  const workOnce = async () => {
    const said = await work();
    line.remove();
    return said;
  };
  button.addEventListener("click", () => act(workOnce));
  line.append(button);
  return line;
}

/** The lines of the animals. @type {Map<bigint, HTMLElement>} */
const lines = new Map();
/** @param {{ id: bigint, name: string }} animal */
function animalLine({ id, name }) {
  // Of this button: two clicks, or one more after a lost response, place one order.
  const idempotencyKey = crypto.randomUUID();
  const line = lineOf(name, "Order", async () => {
    // Without an answer, the sale that the feed tells of may be this order. The button stays.
    lines.delete(id);
    const { order } = await store.orders.place({ petId: id }, { idempotencyKey }).catch((error) => {
      if (error.status === 409 && line.isConnected) lines.set(id, line);
      if (error.code === "pet_not_available") showStatus(line, { name, status: "sold" });
      throw error;
    });
    if (!placed.has(order.id)) orders.prepend(orderLine(order, name));
    return `Thank you. Your order of ${name} has the number ${order.id}.`;
  });
  lines.set(id, line);
  return line;
}

/** The orders with a button on the page, each with what shows how it is now. @type {Map<bigint, (order: Order) => void>} */
const placed = new Map();
/** @typedef {{ id: bigint, petId: bigint, status: string }} Order */
/** @param {Order} order @param {string} name */
function orderLine({ id, petId, status }, name) {
  if (status !== "placed") return lineOf(`${id}: ${name}, ${status}`, "");
  const line = lineOf(`${id}: ${name}`, "Cancel", async () => {
    await store.orders.cancel(id);
    if (placed.delete(id)) {
      animals.prepend(animalLine({ id: petId, name }));
      orders.prepend(orderLine({ id, petId, status: "cancelled" }, name));
    }
    return `Your order ${id} is cancelled.`;
  });
  placed.set(id, (order) => {
    placed.delete(id);
    line.replaceWith(orderLine(order, name));
  });
  return line;
}

/** The last page that was shown. @type {Awaited<ReturnType<ReturnType<typeof store.pets.list>["page"]>> | undefined} */
let page;
/** The page that was asked for last. What happens until it comes is shown after it. @type {Promise<unknown> | undefined} */
let loading;
/** Shows a page, unless another one was asked for meanwhile. @param {Promise<typeof page> | undefined} fetching @param {(next: typeof page) => string} show */
async function load(fetching, show) {
  const own = (loading = fetching?.catch(() => {}));
  const next = await fetching;
  return loading === own ? show(next) : message.textContent;
}

/** @param {typeof page} next */
function showMore(next) {
  page = next;
  animals.append(...(page?.items ?? []).map(animalLine));
  more.hidden = page?.cursor === undefined;
  return animals.childElementCount > 0 ? "" : more.hidden ? "There is no such animal here." : "None so far.";
}

async function showAnimals() {
  return load(store.pets.list({ status: "available", q: query.value || undefined }).page(), (first) => {
    animals.replaceChildren();
    lines.clear();
    return showMore(first);
  });
}

async function showOrders() {
  const { items } = await store.orders.list({ sort: "-id" }).page();
  const found = await store.pets.list({ id: items.map(({ petId }) => petId) }).all(100);
  const names = new Map(found.map(({ id, name }) => [id, name]));
  orders.replaceChildren(...items.map((order) => orderLine(order, names.get(order.petId) ?? "an animal")));
}

async function showAll() {
  await Promise.all([showAnimals(), showOrders()]);
  showShop(true);
}

/** Shows what happened to something that is on the page. @param {import("@petstore/client").PetStoreEvent} event */
function show({ type, data }) {
  if (type === "pet.updated") showStatus(lines.get(data.id), data);
  if (type === "pet.deleted") lines.get(data.id)?.remove();
  if (type === "order.shipped") placed.get(data.id)?.(data);
}

/** @param {HTMLElement | undefined} line @param {{ name: string, status: string }} animal */
function showStatus(line, { name, status }) {
  const button = line?.querySelector("button");
  if (!button) return;
  button.disabled = status !== "available";
  button.textContent = button.disabled ? "Sold" : "Order";
  button.setAttribute("aria-label", `${button.textContent} ${name}`);
}

/** Ends the feed of the visitor before. */
let leave = new AbortController();
/** @param {string} cursor */
function follow(cursor) {
  leave.abort();
  leave = new AbortController();
  const types = ["pet.updated", "pet.deleted", "order.shipped"];
  // The lists come after the end of the feed is known, so that nothing is missed between them.
  return store.events.follow({ live: true, cursor, types, signal: leave.signal, onReset: showAll });
}

/** Shows each change, also after a sleep, another network or another token. @param {ReturnType<typeof follow>} feed @param {string} cursor */
async function watch(feed, cursor) {
  try {
    for await (const page of feed) {
      await loading;
      cursor = page.cursor;
      page.events.forEach(show);
    }
  } catch (error) {
    message.textContent = explain(error);
    if (error === CLOSED) setTimeout(() => watch(follow(cursor), cursor), 10_000);
  }
}

async function start() {
  const feed = follow("latest");
  const first = await feed.next().catch((error) => {
    if (error === CLOSED) setTimeout(() => act(start), 10_000);
    if (error.code !== "not_found") throw error;
    // The service has no live feed.
    return showAll();
  });
  if (first?.value) void watch(feed, first.value.cursor);
  return "";
}

more.addEventListener("click", () => act(() => load(page?.next(), showMore)));
search.addEventListener("submit", (event) => {
  event.preventDefault();
  void act(showAnimals);
});
login.addEventListener("submit", (event) => {
  event.preventDefault();
  void act(async () => {
    const body = new URLSearchParams({ name: visitor.value });
    const response = await fetch("/login", { method: "POST", body }).catch(() => undefined);
    token = undefined;
    return response?.ok ? start() : CLOSED.message;
  });
});
void act(start);

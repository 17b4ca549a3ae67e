// The page of the shop: visitors search, order, and see and cancel their own orders. It asks the API itself, as the customer in its token.
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

/** @param {{ id: bigint, name: string }} animal */
function animalLine({ id, name }) {
  // Of this button: two clicks, or one more after a lost response, place one order.
  const idempotencyKey = crypto.randomUUID();
  return lineOf(name, "Order", async () => {
    const { order } = await store.orders.place({ petId: id }, { idempotencyKey });
    if (!placed.has(order.id)) orders.prepend(orderLine(order, name));
    return `Thank you. Your order of ${name} has the number ${order.id}.`;
  });
}

/** The orders with a button on the page. @type {Set<bigint>} */
const placed = new Set();
/** @param {{ id: bigint, petId: bigint, status: string }} order @param {string} name */
function orderLine({ id, petId, status }, name) {
  if (status !== "placed") return lineOf(`${id}: ${name}, ${status}`, "");
  placed.add(id);
  return lineOf(`${id}: ${name}`, "Cancel", async () => {
    await store.orders.cancel(id);
    if (placed.delete(id)) {
      animals.prepend(animalLine({ id: petId, name }));
      orders.prepend(orderLine({ id, petId, status: "cancelled" }, name));
    }
    return `Your order ${id} is cancelled.`;
  });
}

/** The last page that was shown. @type {Awaited<ReturnType<ReturnType<typeof store.pets.list>["page"]>> | undefined} */
let page;
/** @param {typeof page} next */
function showMore(next) {
  page = next;
  animals.append(...(page?.items ?? []).map(animalLine));
  more.hidden = page?.cursor === undefined;
  return animals.childElementCount > 0 ? "" : more.hidden ? "There is no such animal here." : "None so far.";
}

async function showAnimals() {
  const first = await store.pets.list({ status: "available", q: query.value || undefined }).page();
  animals.replaceChildren();
  return showMore(first);
}

async function showOrders() {
  const { items } = await store.orders.list({ sort: "-id" }).page();
  const found = await store.pets.list({ id: items.map(({ petId }) => petId) }).all(100);
  const names = new Map(found.map(({ id, name }) => [id, name]));
  orders.replaceChildren(...items.map((order) => orderLine(order, names.get(order.petId) ?? "an animal")));
}

async function start() {
  await Promise.all([showAnimals(), showOrders()]);
  showShop(true);
  return "";
}

more.addEventListener("click", () => act(async () => showMore(await page?.next())));
search.addEventListener("submit", (event) => {
  event.preventDefault();
  void act(showAnimals);
});
login.addEventListener("submit", (event) => {
  event.preventDefault();
  void act(async () => {
    const { ok } = await fetch("/login", { method: "POST", body: new URLSearchParams({ name: visitor.value }) });
    token = undefined;
    return ok ? start() : CLOSED.message;
  });
});
void act(start);

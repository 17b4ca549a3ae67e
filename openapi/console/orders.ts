// The orders: those to ship first, each with its animal. What is found can be downloaded and printed.
import { html, nothing } from "lit-html";
import type { Animal, Order, OrderQuery, Page } from "../../client/src/index.ts";
import { mayReadFeed } from "./feed.ts";
import { addressOf, asks, counted, dayOf, filters, input, isAscii } from "./page.ts";
import { midnight, moment, page, refuse, time, update } from "./page.ts";
import { type Attempt, may, store } from "./session.ts";
import { absent, AT_ONCE, tableOf, tableView } from "./table.ts";

type Row = Order & { etag: string };
const STATES = { placed: "To ship", shipped: "Shipped", cancelled: "Cancelled", all: "All" };
const [MAX_ORDERS, MAX_ANIMALS] = [20_000, 20];
const ZONE = moment.resolvedOptions().timeZone;
const COLUMNS = ["order", "status", `placed (${ZONE})`, `shipped (${ZONE})`, "animal", "name", "customer", "reference"];
const animals = new Map<bigint, Animal>();
const stateAsked = () => (asks("state") || (asks("from") + asks("to") ? "all" : "placed")) as keyof typeof STATES;

export const orders = tableView<Row>({
  title: "Orders",
  kind: "order",
  isAllowed: () => may("store:read"),
  isLive: () => asks("find") === "",
  list: (signal) => asked(AT_ONCE, signal),
  fetch: ([id = 0n]) => store.orders.get(id).then(({ order, etag }) => [{ ...order, etag }], absent),
  async complete(rows) {
    const id = may("pets:read") ? rows.map(({ petId }) => petId) : [];
    for await (const animal of store.pets.list({ id })) animals.set(animal.id, animal);
  },
  head() {
    const [find, from, to, today] = [asks("find"), asks("from"), asks("to"), dayOf()];
    const tab = (text: string, query: object, isShown: boolean) =>
      html`<a href=${addressOf("orders", query)} aria-current=${isShown ? "page" : nothing}>${text}</a>`;
    const states = Object.entries(STATES).map(([state, text]) =>
      tab(text, { state, from, to }, find === "" && state === stateAsked()),
    );
    const day = (label: string, name: string) => input(label, name, { type: "date", value: asks(name) });
    return html`${filters("Number, animal, reference or customer", "find", [day("From", "from"), day("To", "to")])}
      <nav class="tabs" aria-label="State">${states} ${tab("Today", { state: "all", from: today, to: today }, from === today && to === today)}</nav>`;
  },
  menu: "Sell, download or print",
  above() {
    const [from, to] = [asks("from"), asks("to")];
    const title = `Orders ${asks("find") || STATES[stateAsked()]}${from && ` from ${from}`}${to && ` to ${to}`}`;
    const sell = async () => void (location.hash = addressOf("animals", { status: "available" }));
    return [
      { label: "Sell an animal", scopes: ["orders:place", "pets:read"], isPrimary: true, run: sell },
      { label: "Download as CSV", run: async () => download(title, await sheet()) },
      { label: "Print", run: async () => toPaper(title, await sheet()) },
    ];
  },
  empty() {
    if (asks("find")) return "Nothing found. Type words of a name, or the whole number, reference or customer.";
    if (stateAsked() !== "placed") return "There is none.";
    return html`No order waits. Is the shop new? <a href="#animals">Add its animals first</a>.`;
  },
  viewOf({ id, petId, status, reference, customer, createdAt, shipDate }) {
    const { name, status: now } = animals.get(petId) ?? { name: `Animal ${petId}`, status: "deleted" };
    return html`<strong>Order ${id}</strong> <span class="state ${status}">${status}</span>
      ${mayReadFeed() ? html`<a href=${addressOf("feed", { animal: petId })}>${name}</a>` : name} <small>animal ${petId}${may("pets:read") ? `, ${now}` : ""}</small>
      <p>${reference === undefined ? nothing : html`Reference <b>${reference}</b> · `}${customer === undefined ? nothing : html`Customer <a href=${addressOf("orders", { find: customer })}>${customer}</a> · `}
        placed ${time(createdAt)}${shipDate === null ? nothing : html` · shipped ${time(shipDate)}`}</p>`;
  },
  actions({ id, petId, status, customer, etag: ifMatch }) {
    if (status !== "placed") return [];
    const name = animals.get(petId)?.name ?? "Animal";
    const shipping = `Ship ${name} (animal ${petId})${customer ? ` for customer ${customer}` : ""}? This cannot be undone.`;
    const cancelling = `Cancel order ${id}? ${name} (animal ${petId}) can then be sold again. This cannot be undone.`;
    const done = (state: string) => () => ({ text: `Order ${id} is ${state}.` });
    const ship = (attempt: Attempt) => store.orders.ship(id, { ...attempt, ifMatch }).then(done("shipped"));
    const cancel = () => store.orders.cancel(id, { ifMatch }).then(done("cancelled"));
    const scopes = ["orders:manage"] as const;
    return [
      { label: "Ship", scopes, isPrimary: true, question: shipping, run: (once) => once(ship) },
      { label: "Cancel", scopes, question: cancelling, run: cancel },
    ];
  },
});

/** What the address asks for: the orders of a state, or that of a number, those with a reference, of a customer, and of the newest animals with a name. */
async function asked(limit: number, signal?: AbortSignal): Promise<Partial<Page<Row>>> {
  const [text, state, from, to] = [asks("find"), stateAsked(), asks("from"), asks("to")];
  const createdAfter = from ? midnight(from).toISOString() : undefined;
  const createdBefore = to ? midnight(to, 1).toISOString() : undefined;
  const listOf = (by: OrderQuery) =>
    store.orders.list({ createdAfter, createdBefore, limit, etags: true, sort: "-id", ...by }, { signal }).page();
  if (text === "") return listOf(state === "all" ? {} : { status: state, sort: state === "placed" ? "id" : "-id" });
  const number = /^#?(\d{1,18})$/.exec(text)?.[1];
  const order = number ? await orders.fetch([BigInt(number)]) : [];
  const called = { q: text, sort: "-id", limit: MAX_ANIMALS } as const;
  const found = may("pets:read") ? [await store.pets.list(called, { signal }).page()] : [];
  const by = [{ reference: text }, ...found.flatMap(({ items }) => items.map(({ id }) => ({ petId: id })))];
  const lists = await Promise.all(by.map(listOf));
  const own = isAscii(text) ? await listOf({ customer: text }) : undefined;
  if ([...found, ...lists].some(({ cursor }) => cursor))
    page.notice = { text: "There are more. Type more, or choose days." };
  return { ...own, items: [...order, ...(own?.items ?? []), ...lists.flatMap(({ items }) => items)] };
}

/** A row for each order that the address asks for. */
async function sheet(): Promise<string[][]> {
  const found = new Map<bigint, Row>();
  for (let part: Partial<Page<Row>> | undefined = await asked(100); part; part = await part.next?.()) {
    await orders.complete?.(part.items ?? []);
    for (const order of part.items ?? []) found.set(order.id, order);
    if (found.size > MAX_ORDERS) refuse(`There are more than ${counted(MAX_ORDERS, "order")}. Choose fewer days.`);
  }
  return [...found.values()].map(({ id, status, createdAt, shipDate, petId, customer = "", reference = "" }) => {
    const times = [createdAt, shipDate].map((at) => (at === null ? "" : moment.format(new Date(at))));
    return [`${id}`, status, ...times, `${petId}`, animals.get(petId)?.name ?? "", customer, reference];
  });
}

/** Makes a CSV file (RFC 4180). Its mark tells Excel that it is UTF-8. Spreadsheets take a cell for a formula that begins like one. */
function download(name: string, rows: string[][]): void {
  const cellOf = (text: string) => `"${text.replace(/^[=+\-@\t\r]/, "'$&").replaceAll('"', '""')}"`;
  const lines = [COLUMNS, ...rows].map((row) => `${row.map(cellOf).join()}\r\n`);
  const href = URL.createObjectURL(new Blob(["\uFEFF", ...lines], { type: "text/csv" }));
  Object.assign(document.createElement("a"), { href, download: `${name}.csv` }).click();
  setTimeout(() => URL.revokeObjectURL(href), 60_000);
}

function toPaper(title: string, rows: string[][]): void {
  page.paper = html`<section class="paper"><h1>${title}</h1>${tableOf(COLUMNS, rows)}</section>`;
  update();
  print();
}

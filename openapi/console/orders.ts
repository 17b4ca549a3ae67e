// The orders: those to ship first, each with its animal.
import { html, nothing } from "lit-html";
import type { Animal, Order, Page } from "../../client/src/index.ts";
import { mayReadFeed } from "./feed.ts";
import { addressOf, asks, filters, time } from "./page.ts";
import { type Attempt, may, store } from "./session.ts";
import { absent, AT_ONCE, tableView } from "./table.ts";

type Row = Order & { etag: string };

const STATES = { placed: "To ship", shipped: "Shipped", cancelled: "Cancelled", all: "All" };
/** What the service takes as a customer, and as a number. */
const [CUSTOMER, NUMBER] = [/^[!-~]{1,255}$/, /^#?(\d{1,18})$/];

const animals = new Map<bigint, Animal>();

const stateAsked = () => (asks("state") in STATES ? asks("state") : "placed") as keyof typeof STATES;

export const orders = tableView<Row>({
  title: "Orders",
  kind: "order",
  isAllowed: () => may("store:read"),
  isLive: () => asks("find") === "",
  async list(signal) {
    if (asks("find") !== "") return search(asks("find"), signal);
    const state = stateAsked();
    const [status, sort] = [state === "all" ? undefined : state, state === "placed" ? "id" : "-id"] as const;
    return store.orders.list({ status, sort, limit: AT_ONCE, etags: true }, { signal }).page();
  },
  fetch: (id) => store.orders.get(id).then(({ order, etag }) => ({ ...order, etag })),
  async complete(rows) {
    if (!may("pets:read")) return;
    for await (const animal of store.pets.list({ id: rows.map(({ petId }) => petId) })) animals.set(animal.id, animal);
  },
  head() {
    const shown = asks("find") === "" ? stateAsked() : undefined;
    const tab = ([state, text]: [string, string]) =>
      html`<a href=${addressOf("orders", { state })} aria-current=${state === shown ? "page" : nothing}>${text}</a>`;
    return html`${filters("Number, reference or customer", "find")}
      <nav class="tabs" aria-label="State">${Object.entries(STATES).map(tab)}</nav>`;
  },
  empty() {
    if (asks("find")) return "Nothing found. Type the whole number, reference or customer, with the same capitals.";
    if (stateAsked() !== "placed") return "There is none.";
    return html`No order waits. Orders come from the shop's own program. Is the shop new? <a href="#animals">Add its animals first</a>.`;
  },
  viewOf({ id, petId, status, reference, customer, createdAt, shipDate }) {
    const animal = animals.get(petId);
    const { name } = animal ?? { name: `Animal ${petId}` };
    return html`
      <strong>Order ${id}</strong> <span class="state ${status}">${status}</span>
      ${mayReadFeed() ? html`<a href=${addressOf("feed", { animal: petId })}>${name}</a>` : name}
      <small>animal ${petId}${animal ? `, ${animal.status}` : may("pets:read") ? ", deleted" : ""}</small>
      <p>
        ${reference === undefined ? nothing : html`Reference <b>${reference}</b> · `}${customer === undefined ? nothing : html`Customer <a href=${addressOf("orders", { find: customer })}>${customer}</a> · `}
        placed ${time(createdAt)}${shipDate === null ? nothing : html` · shipped ${time(shipDate)}`}
      </p>`;
  },
  actions({ id, petId, status, customer, etag: ifMatch }) {
    if (status !== "placed" || !may("orders:manage")) return [];
    const name = animals.get(petId)?.name;
    const shipping = `Ship ${name ?? "Animal"} (animal ${petId})${customer ? ` for customer ${customer}` : ""}?`;
    const cancelling = `Cancel order ${id}? Animal ${petId}${name ? ` (${name})` : ""} can then be sold again.`;
    const done = (state: string) => () => ({ text: `Order ${id} is ${state}.` });
    const ship = (attempt: Attempt) => store.orders.ship(id, { ...attempt, ifMatch }).then(done("shipped"));
    const cancel = () => store.orders.cancel(id, { ifMatch }).then(done("cancelled"));
    return [
      { label: "Ship", isPrimary: true, question: `${shipping} This cannot be undone.`, run: (once) => once(ship) },
      { label: "Cancel", question: `${cancelling} This cannot be undone.`, run: cancel },
    ];
  },
});

/** The order of a number, those with a reference, and those of a customer: of the last, more on demand. */
async function search(text: string, signal: AbortSignal): Promise<Partial<Page<Row>>> {
  const listOf = (by: { reference: string } | { customer: string }) =>
    store.orders.list({ ...by, limit: AT_ONCE, etags: true, sort: "-id" }, { signal }).page();
  const number = NUMBER.exec(text)?.[1];
  const [order, named, own] = await Promise.all([
    number === undefined ? undefined : orders.fetch(BigInt(number)).catch(absent),
    listOf({ reference: text }),
    CUSTOMER.test(text) ? listOf({ customer: text }) : undefined,
  ]);
  return { ...own, items: [...(order ? [order] : []), ...named.items, ...(own?.items ?? [])] };
}

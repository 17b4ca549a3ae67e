// The orders: those to ship first, each with its animal.
import { html, nothing, type TemplateResult } from "lit-html";
import { repeat } from "lit-html/directives/repeat.js";
import { type Animal, type Order, type Page, type PetStoreError } from "../../client/src/index.ts";
import { asked, asking, button, field, hashOf, type Notice, submit, time, update, type View } from "./page.ts";
import { current, may, once } from "./session.ts";

type Row = Order & { etag: string };

const STATES = { placed: "To ship", shipped: "Shipped", cancelled: "Cancelled", all: "All" };
const AT_ONCE = 50;
/** What the service takes as a customer, and as a number. */
const [CUSTOMER, NUMBER] = [/^[!-~]{1,255}$/, /^#?(\d{1,18})$/];
/** That somebody else changed the order first. */
const LATE = new Set<unknown>(["precondition_failed", "order_shipped", "order_cancelled"]);

let state = "placed";
let find = "";
let rows: Row[] | undefined;
let rest: Page<Row> | undefined;
const animals = new Map<bigint, Animal>();

export const orders: View = {
  title: "Orders",
  isAllowed: () => may("store:read"),
  async open(query, signal) {
    find = query.get("find") ?? "";
    state = query.get("state") ?? "placed";
    const sort = state === "placed" ? "id" : "-id";
    const status = state in STATES && state !== "all" ? (state as "placed") : undefined;
    const list = current().store.orders.list({ status, sort, limit: AT_ONCE, etags: true }, { signal });
    const found = find === "" ? await list.page() : undefined;
    const items = found?.items ?? (await search(find, signal));
    await fetchAnimals(items, signal);
    [rows, rest] = [items, found];
  },
  view: () => html`
    <form class="filters" role="search" @submit=${submit((value) => (location.hash = hashOf("orders", { find: value("find") })))}>
      ${field("Number, reference or customer", html`<input type="search" name="find" maxlength="255" .value=${find} />`)}
      <button class="primary">Find</button>
    </form>
    ${find === "" ? html`<nav class="tabs" aria-label="State">${Object.entries(STATES).map(tab)}</nav>` : html`<p><a href="#orders">All orders to ship</a></p>`}
    <ul class="rows">${repeat(rows ?? [], ({ id }) => id, rowOf)}</ul>
    ${rows?.length === 0 ? nobody() : nothing}
    ${rest?.cursor === undefined ? nothing : button("more", `Show ${AT_ONCE} more`, more)}
  `,
};

const tab = ([value, text]: [string, string]) =>
  html`<a href=${hashOf("orders", { state: value })} aria-current=${value === state ? "page" : nothing}>${text}</a>`;

function nobody(): TemplateResult {
  if (find !== "") return html`<p>No order has this number, reference or customer, letter by letter.</p>`;
  if (state !== "placed") return html`<p>There is none.</p>`;
  return html`<p>No order waits. Orders come from the shop's own program. Is the shop new? <a href="#animals">Add its animals first</a>.</p>`;
}

async function search(text: string, signal: AbortSignal): Promise<Row[]> {
  const { orders } = current().store;
  const listOf = (by: { reference: string } | { customer: string }) =>
    orders.list({ ...by, limit: 100, etags: true, sort: "-id" }, { signal }).page();
  const [, number] = NUMBER.exec(text) ?? [];
  const [named, order, own] = await Promise.all([
    listOf({ reference: text }),
    number === undefined ? undefined : fetchOrder(BigInt(number), signal),
    CUSTOMER.test(text) ? listOf({ customer: text }) : undefined,
  ]);
  const found = [...named.items, ...(order ? [order] : []), ...(own?.items ?? [])];
  return [...new Map(found.map((row) => [row.id, row])).values()].toSorted((a, b) => (a.id < b.id ? 1 : -1));
}

async function fetchOrder(id: bigint, signal?: AbortSignal): Promise<Row | undefined> {
  try {
    const { order, etag } = await current().store.orders.get(id, { signal });
    return { ...order, etag };
  } catch (error) {
    if ((error as PetStoreError).code === "not_found") return undefined;
    throw error;
  }
}

async function fetchAnimals(rows: Row[], signal?: AbortSignal): Promise<void> {
  if (!may("pets:read")) return;
  const list = current().store.pets.list({ id: rows.map(({ petId }) => petId) }, { signal });
  for await (const animal of list) animals.set(animal.id, animal);
}

async function more(): Promise<void> {
  const next = await rest?.next();
  if (next) await fetchAnimals(next.items);
  [rows, rest] = [[...(rows ?? []), ...(next?.items ?? [])], next];
}

function rowOf(row: Row): TemplateResult {
  const { id, petId, status, reference, customer, createdAt, shipDate } = row;
  const [at, what, animal] = [`order-${id}`, `order ${id}`, animals.get(petId)];
  const of = `${animal?.name ?? "Animal"} (animal ${petId})${customer ? ` for customer ${customer}` : ""}.`;
  const cancelled = `Cancel the order? ${of} The animal can then be sold again. This cannot be undone.`;
  return html`<li id=${at} tabindex="-1">
    <div>
      <strong>Order ${id}</strong> <span class="state ${status}">${status}</span>
      <a href=${hashOf("feed", { animal: String(petId) })}>${animal?.name ?? `Animal ${petId}`}</a>
      <small>animal ${petId}${animal ? `, ${animal.status}` : may("pets:read") ? ", deleted" : ""}</small>
      <p>
        ${reference === undefined ? nothing : html`Reference <b>${reference}</b> · `}${customer === undefined ? nothing : html`Customer <a href=${hashOf("orders", { find: customer })}>${customer}</a> · `}
        placed ${time(createdAt)}${shipDate === null ? nothing : html` · shipped ${time(shipDate)}`}
      </p>
    </div>
    ${
      status !== "placed" || !may("orders:manage")
        ? nothing
        : asked(at, [
            asking(at, "Ship", what, `Ship ${of} This cannot be undone.`, () => change(row, "shipped"), "primary"),
            asking(at, "Cancel", what, cancelled, () => change(row, "cancelled")),
          ])
    }
  </li>`;
}

/** Ships or cancels an order in the version that the person saw. */
async function change({ id, petId, etag: ifMatch }: Row, to: "shipped" | "cancelled"): Promise<Notice> {
  const { orders } = current().store;
  let isLate = false;
  try {
    if (to === "cancelled") await orders.cancel(id, { ifMatch });
    else await once(`ship ${id} ${ifMatch}`, (options) => orders.ship(id, { ...options, ifMatch }));
  } catch (error) {
    isLate = LATE.has((error as PetStoreError).code);
    if (!isLate) throw error;
  }
  // As it is now, with its animal.
  const now = await fetchOrder(id);
  animals.delete(petId);
  if (now) await fetchAnimals([now]);
  rows = rows?.map((row) => (row.id === id && now ? now : row));
  update();
  if (!isLate) return { text: `Order ${id} is ${to}.` };
  const left =
    now?.status === "placed" ? "Look at it again. It can still be shipped." : `It is ${now?.status} already.`;
  return { text: `Somebody else was faster, and changed order ${id}. ${left} You changed nothing.`, isError: true };
}

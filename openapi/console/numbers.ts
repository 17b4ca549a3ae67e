// How many animals there are, and how many orders were placed in the last days.
import { html, nothing } from "lit-html";
import type { Inventory, Order } from "../../client/src/index.ts";
import { addressOf, counted, dayOf, midnight } from "./page.ts";
import { may, store } from "./session.ts";
import { tableOf, type View } from "./table.ts";

const [DAYS, HOUR] = [7, 3_600_000];
const MAX_ORDERS = 10_000;
const STATES = { shipped: "Shipped", placed: "To ship", cancelled: "Cancelled" };
const named = new Intl.DateTimeFormat("en-GB", { weekday: "short", day: "numeric", month: "short" });
let stock: { inventory: Inventory; age: number } | undefined;
let orders: Order[] = [];
const dayAgo = (days: number) => midnight(dayOf(), -days);
const meterOf = (of: string, value: number, max: number) =>
  html`<meter aria-label=${of} max=${Math.max(1, max)} value=${value}></meter>`;

export const numbers: View = {
  title: "Numbers",
  isAllowed: () => may("store:read"),
  async open(signal) {
    const found: Order[] = [];
    const query = { createdAfter: dayAgo(DAYS - 1).toISOString(), sort: "-id", limit: 100 } as const;
    for await (const order of store.orders.list(query, { signal })) if (found.push(order) === MAX_ORDERS) break;
    [orders, stock] = [found, await store.orders.inventory({ signal })];
  },
  view() {
    if (!stock) return nothing;
    const counts = Object.entries(stock.inventory);
    const total = counts.reduce((sum, [, count]) => sum + count, 0);
    const statuses = counts.map(([status, count]) => [status, count, meterOf(`${status} of all`, count, total)]);
    const rowOf = (name: unknown, since: Date, before = new Date(Date.now() + HOUR)) => {
      const [from, to] = [since.toISOString(), before.toISOString()];
      const own = orders.filter(({ createdAt }) => from <= createdAt && createdAt < to);
      const states = Object.keys(STATES).map((state) => own.filter(({ status }) => status === state).length);
      return [name, own.length, ...states, meterOf("of the 7 days", own.length, orders.length)];
    };
    const linkOf = (text: string, from: Date, to = from) =>
      html`<a href=${addressOf("orders", { state: "all", from: dayOf(from), to: dayOf(to) })}>${text}</a>`;
    const dayOfSales = (start: Date, ago: number) => rowOf(linkOf(named.format(start), start), start, dayAgo(ago - 1));
    const days = Array.from({ length: DAYS }, (_, ago) => dayOfSales(dayAgo(ago), ago));
    const week = rowOf(linkOf("Last 7 days", dayAgo(DAYS - 1), dayAgo(0)), dayAgo(DAYS - 1));
    const hours = rowOf("Last 24 hours", new Date(Date.now() - 24 * HOUR));
    return html`<h2>Orders placed</h2>
      ${orders.length < MAX_ORDERS ? nothing : html`<p><b>This is not all</b>: the last ${counted(MAX_ORDERS, "order")} are counted.</p>`}
      ${tableOf(["When", "Placed", ...Object.values(STATES), "Of the 7 days"], [hours, week, ...days])}
      <h2>Animals</h2>${tableOf(["Status", "Animals", "Of all"], statuses)}
      <p><small>${counted(total, "animal")}, counted ${stock.age} seconds ago.</small></p>`;
  },
};

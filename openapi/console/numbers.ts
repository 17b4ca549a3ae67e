// How many animals there are, and what happened in the last 24 hours.
import { html, nothing, svg, type TemplateResult } from "lit-html";
import type { Inventory } from "../../client/src/index.ts";
import { mayReadFeed, past, readFeed, readings, restOfFeed } from "./feed.ts";
import { may, store } from "./session.ts";
import type { View } from "./table.ts";

const HOUR = 3_600_000;
const HOURS = 24;
const hourFormat = new Intl.DateTimeFormat("en-GB", { hour: "2-digit", minute: "2-digit" });

let stock: { inventory: Inventory; age: number } | undefined;

export const numbers: View = {
  title: "Numbers",
  isAllowed: () => may("store:read"),
  async open(signal) {
    const counting = store.orders.inventory({ signal }).then((counted) => void (stock = counted));
    await Promise.all([counting, mayReadFeed() && readFeed(signal)]);
  },
  view: () => [stock === undefined ? nothing : stockOf(stock), mayReadFeed() ? activity() : nothing],
};

function stockOf({ inventory, age }: NonNullable<typeof stock>): TemplateResult {
  const total = inventory.available + inventory.pending + inventory.sold;
  const bar = ([status, count]: [string, number]) => html`
    <li><span class="state ${status}">${status}</span> <b>${count.toLocaleString("en")}</b>
    <meter aria-label="${status} of all" max=${Math.max(1, total)} value=${count}></meter></li>`;
  return html`<h2>Animals</h2>
    <ul class="legend">${Object.entries(inventory).map(bar)}</ul>
    <p><small>${total.toLocaleString("en")} animals, counted ${age} seconds ago.</small></p>`;
}

function activity(): TemplateResult {
  if (readings > 0) return html`<h2>The last 24 hours</h2><p>Reading the feed …</p>`;
  const first = Math.floor(Date.now() / HOUR) - HOURS + 1;
  const byHour = Object.groupBy(past, ({ timestamp }) => Math.floor(Date.parse(timestamp) / HOUR));
  const hours = Array.from({ length: HOURS }, (_, index) => {
    const events = byHour[first + index] ?? [];
    const orders = events.filter(({ type }) => type === "order.placed").length;
    return { start: (first + index) * HOUR, orders, changes: events.length };
  });
  const sum = (of: "orders" | "changes") => hours.reduce((sum, hour) => sum + hour[of], 0).toLocaleString("en");
  const text = `${sum("orders")} orders placed and ${sum("changes")} changes in all`;
  const top = Math.max(1, ...hours.map(({ changes }) => changes));
  const bar = (hour: number, share: number, kind: string) =>
    svg`<rect class=${kind} x=${hour + 0.05} y=${1 - share} width="0.9" height=${share}></rect>`;
  return html`<h2>The last 24 hours</h2>
    <p>${text}.</p>
    ${restOfFeed()}
    <svg viewBox="0 0 ${HOURS} 1" preserveAspectRatio="none" role="img" aria-label="${text}, by the hour">
      ${hours.map(({ orders, changes }, index) => [bar(index, changes / top, "changes"), bar(index, orders / top, "orders")])}
    </svg>
    <p class="title"><small>24 hours ago</small><small>now</small></p>
    <ul class="legend"><li><span class="state orders">orders placed</span></li><li><span class="state changes">changes</span></li></ul>
    <details><summary>As a table</summary>
      <table><thead><tr><th>Hour</th><th>Orders placed</th><th>Changes</th></tr></thead>
      <tbody>${hours.map(({ start, orders, changes }) => html`<tr><td>${hourFormat.format(start)}</td><td>${orders}</td><td>${changes}</td></tr>`)}</tbody></table>
    </details>`;
}

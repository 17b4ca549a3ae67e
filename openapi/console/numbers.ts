// How many animals there are, and what happened in the last 24 hours.
import { html, nothing, svg, type TemplateResult } from "lit-html";
import type { Inventory } from "../../client/src/index.ts";
import { mayReadFeed, past, readFeed, reading, restOfFeed } from "./feed.ts";
import { may, store } from "./session.ts";
import type { View } from "./table.ts";

const HOUR = 3_600_000;
const HOURS = 24;
const [WIDTH, HEIGHT] = [480, 120];
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
  const entries = Object.entries(inventory);
  const total = entries.reduce((sum, [, count]) => sum + count, 0);
  let x = 0;
  const bars = entries.map(([status, count]) => {
    const width = (WIDTH * count) / Math.max(1, total);
    x += width;
    return svg`<rect class=${status} x=${x - width} y="0" width=${width} height="24"></rect>`;
  });
  return html`<h2>Animals</h2>
    <svg viewBox="0 0 ${WIDTH} 24" aria-hidden="true">${bars}</svg>
    <ul class="legend">${entries.map(([status, count]) => html`<li><span class="state ${status}">${status}</span> <b>${count.toLocaleString("en")}</b></li>`)}</ul>
    <p><small>${total.toLocaleString("en")} animals, counted ${age} seconds ago.</small></p>`;
}

function activity(): TemplateResult {
  if (reading === "goes on") return html`<h2>The last 24 hours</h2><p>Reading the feed …</p>`;
  const first = Math.floor(Date.now() / HOUR) - HOURS + 1;
  const hours = Array.from({ length: HOURS }, (_, index) => ({ start: (first + index) * HOUR, orders: 0, changes: 0 }));
  const all = { orders: 0, changes: 0 };
  for (const { type, timestamp } of past()) {
    const hour = hours[Math.floor(Date.parse(timestamp) / HOUR) - first];
    for (const sum of hour ? [hour, all] : []) {
      sum.orders += Number(type === "order.placed");
      sum.changes += 1;
    }
  }
  const text = `${all.orders.toLocaleString("en")} orders placed and ${all.changes.toLocaleString("en")} changes in all`;
  const [step, top] = [WIDTH / HOURS, Math.max(1, ...hours.map(({ changes }) => changes))];
  const bar = (index: number, count: number, kind: string) => {
    const height = (HEIGHT * count) / top;
    return svg`<rect class=${kind} x=${index * step + 1} y=${HEIGHT - height} width=${step - 2} height=${height}></rect>`;
  };
  return html`<h2>The last 24 hours</h2>
    <p>${text}.</p>
    ${restOfFeed()}
    <svg viewBox="0 0 ${WIDTH} ${HEIGHT}" role="img" aria-label="${text}, by the hour">
      ${hours.map(({ orders, changes }, index) => [bar(index, changes, "changes"), bar(index, orders, "orders")])}
    </svg>
    <p class="title"><small>24 hours ago</small><small>now</small></p>
    <ul class="legend"><li><span class="state orders">orders placed</span></li><li><span class="state changes">changes</span></li></ul>
    <details><summary>As a table</summary>
      <table><thead><tr><th>Hour</th><th>Orders placed</th><th>Changes</th></tr></thead>
      <tbody>${hours.map(({ start, orders, changes }) => html`<tr><td>${hourFormat.format(start)}</td><td>${orders}</td><td>${changes}</td></tr>`)}</tbody></table>
    </details>`;
}

// How many animals there are, and what happened in the last 24 hours.
import { html, nothing, svg, type TemplateResult } from "lit-html";
import type { Inventory } from "../../client/src/index.ts";
import { mayReadFeed, readable, walk } from "./feed.ts";
import { button, type View } from "./page.ts";
import { current, may } from "./session.ts";

const HOUR = 3_600_000;
const HOURS = 24;
const [WIDTH, HEIGHT] = [480, 120];

let inventory: { inventory: Inventory; age: number } | undefined;
/** Orders placed and changes, by their hour since the epoch. */
let hours = new Map<number, { orders: number; changes: number }>();
let isAll = false;
let rest: string | undefined;
/** When the last event that was read happened. */
let last: string | undefined;

export const numbers: View = {
  title: "Numbers",
  isAllowed: () => may("store:read"),
  async open(_query, signal) {
    inventory = await current().store.orders.inventory({ signal });
    [hours, rest, isAll] = [new Map(), undefined, false];
    if (mayReadFeed()) await read(signal);
  },
  view: () => html`
    ${inventory === undefined ? nothing : stock(inventory)}
    ${mayReadFeed() ? activity() : nothing}
  `,
};

async function read(signal?: AbortSignal): Promise<void> {
  rest = await walk({ types: readable(), cursor: rest, signal }, (events) => {
    for (const { type, timestamp } of events) {
      last = timestamp;
      const hour = Math.floor(Date.parse(timestamp) / HOUR);
      const { orders, changes } = hours.get(hour) ?? { orders: 0, changes: 0 };
      hours.set(hour, { orders: orders + Number(type === "order.placed"), changes: changes + 1 });
    }
  });
  isAll = rest === undefined;
}

function stock({ inventory, age }: { inventory: Inventory; age: number }): TemplateResult {
  const entries = Object.entries(inventory);
  const total = entries.reduce((sum, [, count]) => sum + count, 0);
  let x = 0;
  const bars = entries.map(([status, count]) => {
    const width = total === 0 ? 0 : (WIDTH * count) / total;
    x += width;
    return svg`<rect class=${status} x=${x - width} y="0" width=${width} height="24"></rect>`;
  });
  return html`<h2>Animals</h2>
    <svg viewBox="0 0 ${WIDTH} 24" aria-hidden="true">${bars}</svg>
    <ul class="legend">${entries.map(([status, count]) => html`<li><span class="state ${status}">${status}</span> <b>${count.toLocaleString("en")}</b></li>`)}</ul>
    <p><small>${total.toLocaleString("en")} animals, counted ${age} seconds ago.</small></p>`;
}

function activity(): TemplateResult {
  const now = Math.floor(Date.now() / HOUR);
  const list = Array.from({ length: HOURS }, (_, index) => {
    const hour = now - HOURS + 1 + index;
    return {
      hour: new Date(hour * HOUR).toLocaleTimeString("en-GB", { hour: "2-digit", minute: "2-digit" }),
      ...(hours.get(hour) ?? { orders: 0, changes: 0 }),
    };
  });
  const sum = (name: "orders" | "changes") => list.reduce((all, one) => all + one[name], 0);
  const text = `${sum("orders").toLocaleString("en")} orders placed and ${sum("changes").toLocaleString("en")} changes in all`;
  const top = Math.max(1, ...list.map(({ changes }) => changes));
  const step = WIDTH / HOURS;
  const bar = (index: number, count: number, kind: string) => {
    const height = (HEIGHT * count) / top;
    return svg`<rect class=${kind} x=${index * step + 1} y=${HEIGHT - height} width=${step - 2} height=${height}></rect>`;
  };
  return html`<h2>The last 24 hours</h2>
    <p>${isAll || rest !== undefined ? `${text}.` : "Reading the feed …"}</p>
    ${rest === undefined || last === undefined ? nothing : html`<p><b>This is not all</b>: the feed is read up to ${new Date(last).toLocaleString("en-GB")}. ${button("read-on", "Read on", () => read())}</p>`}
    <svg viewBox="0 0 ${WIDTH} ${HEIGHT}" role="img" aria-label="${text}, by the hour">
      ${list.map(({ orders, changes }, index) => [bar(index, changes, "changes"), bar(index, orders, "orders")])}
    </svg>
    <p class="title"><small>24 hours ago</small><small>now</small></p>
    <ul class="legend"><li><span class="state orders">orders placed</span></li><li><span class="state changes">changes</span></li></ul>
    <details><summary>As a table</summary>
      <table><thead><tr><th>Hour</th><th>Orders placed</th><th>Changes</th></tr></thead>
      <tbody>${list.map(({ hour, orders, changes }) => html`<tr><td>${hour}</td><td>${orders}</td><td>${changes}</td></tr>`)}</tbody></table>
    </details>`;
}

// The webhooks: whether each delivers, and what its receiver answered.
import { html, nothing, type TemplateResult } from "lit-html";
import { repeat } from "lit-html/directives/repeat.js";
import type { Delivery, EventType, PetStoreEvent, Webhook, WebhookState } from "../../client/src/index.ts";
import { mayReadFeed, readable, textOf, walk, WORDS } from "./feed.ts";
import { act, asked, asking, button, choice, type Notice, submit, time, update, type View } from "./page.ts";
import { current, may, once } from "./session.ts";

interface Row extends Webhook {
  etag: string;
  state: WebhookState;
  deliveries?: Delivery[] | undefined;
  cursor?: string | undefined;
  secret?: string | undefined;
}

const HOUR = 3_600_000;
const SINCE = Object.entries({ 1: "the last hour", 24: "the last 24 hours", 168: "the last 7 days" });

let rows: Row[] | undefined;
/** What events are about, by their ids. */
const texts = new Map<string, string>();

export const webhooks: View = {
  title: "Webhooks",
  isAllowed: () => may("webhooks:manage"),
  async open(_query, signal) {
    const { webhooks } = current().store;
    const found = await webhooks.list({ limit: 100, etags: true }, { signal }).page();
    const states = await Promise.all(found.items.map(({ id }) => webhooks.state(id, { signal })));
    rows = found.items.map((webhook, index) => ({ ...webhook, state: states[index] as WebhookState }));
  },
  view: () => html`
    <ul class="rows">${repeat(rows ?? [], ({ id }) => id, rowOf)}</ul>
    ${rows?.length === 0 ? html`<p>No program gets the events. <a href="/docs/webhooks">A webhook</a> brings them to one, for example to the accounting.</p>` : nothing}
  `,
};

function rowOf(row: Row): TemplateResult {
  const { id, url, types, enabled, state, secret, deliveries } = row;
  const missing = (Object.keys(WORDS) as EventType[]).filter((type) => !types.includes(type));
  const [at, name] = [`webhook-${id}`, `webhook ${id}`];
  const since = submit((value) => act(`replay-${id}`, () => replay(row, Number(value("since")))));
  const look = async () => (deliveries ? change(id, { deliveries: undefined }) : fetchDeliveries(row));
  const show = async () => change(id, { secret: secret ? undefined : await current().store.webhooks.secret(id) });
  const question =
    "Make a new secret? For 24 hours, deliveries are signed with both. Give the new one to the receiver.";
  return html`<li id=${at} tabindex="-1">
    <div>
      <strong>${url}</strong> <span class="state ${enabled ? state.health : "off"}">${!enabled ? "disabled" : state.health === "ok" ? "enabled" : "fails"}</span>
      <p>${healthOf(row)} Deliveries that wait: ${state.pending} · last success ${state.lastSuccessAt === undefined ? "never" : time(state.lastSuccessAt)}${state.nextAttemptAt === undefined ? nothing : html` · next attempt ${time(state.nextAttemptAt)}`}${state.replay ? " · a replay runs" : ""}</p>
      <p>Hears of: ${types.map((type) => WORDS[type as EventType] ?? type).join(", ")}. ${missing.length === 0 ? nothing : html`<b>Not of</b>: ${missing.map((type) => WORDS[type]).join(", ")}.`}</p>
      ${secret === undefined ? nothing : html`<p>Secret <code>${secret}</code></p>`}
    </div>
    ${asked(at, [
      button(`deliveries-${id}`, deliveries ? "Hide deliveries" : "Deliveries", look, `of ${name}`, "primary"),
      button(`test-${id}`, "Test", () => test(row), name),
      button(`enable-${id}`, enabled ? "Disable" : "Enable", () => enable(row), name),
      button(`secret-${id}`, secret ? "Hide secret" : "Show secret", show, `of ${name}`),
      asking(at, "Rotate secret", `of ${name}`, question, () => rotate(row)),
      !mayReadFeed()
        ? nothing
        : html`<form class="filters" @submit=${since}>${choice("Deliver again what happened in", "since", SINCE, "1")}<button aria-label="Replay to ${name}">Replay</button></form>`,
    ])}
    ${
      deliveries === undefined
        ? nothing
        : html`<ul class="deliveries" aria-label="Deliveries of ${name}">${deliveries.map(deliveryOf)}</ul>
      ${deliveries.length === 0 ? "Nothing was delivered yet, and nothing waits." : nothing}
      ${row.cursor === undefined ? nothing : button(`more-${id}`, "Show older deliveries", () => fetchDeliveries(row), `of ${name}`)}`
    }
  </li>`;
}

function healthOf({ enabled, state, disabledReason }: Row): string {
  const gone = disabledReason === "gone" ? ", because its receiver answered 410" : "";
  if (!enabled) return `It delivers nothing${gone}. When it is enabled, it goes on where it stood.`;
  return state.health === "ok" ? "" : "Its receiver takes nothing. It goes on by itself when the receiver is back.";
}

function deliveryOf({ event, type, status, attempts, response, error, replay, ...delivery }: Delivery): TemplateResult {
  const { lastAttemptAt, nextAttemptAt } = delivery;
  const answer = response === undefined ? (error ?? "no answer yet") : `answered ${response}`;
  return html`<li>
    <span class="state ${status}">${status}</span> ${texts.get(event) ?? WORDS[type as EventType] ?? type}${replay ? " (replay)" : ""}
    <small>${answer} · attempts: ${attempts}${lastAttemptAt === undefined ? nothing : html` · ${time(lastAttemptAt)}`}${nextAttemptAt === undefined ? nothing : html` · next ${time(nextAttemptAt)}`} · <code>${event}</code></small>
  </li>`;
}

function change(id: bigint, values: Partial<Row>): void {
  rows = rows?.map((row) => (row.id === id ? { ...row, ...values } : row));
  update();
}

async function fetchDeliveries({ id, cursor, deliveries = [], types }: Row): Promise<void> {
  const page = await current().store.webhooks.deliveries(id, { limit: 50, cursor });
  change(id, { deliveries: [...deliveries, ...page.deliveries], cursor: page.cursor });
  if (!mayReadFeed() || page.deliveries.every(({ event }) => texts.has(event))) return;
  const name = (event: PetStoreEvent) => texts.set(event.id, textOf(event));
  await walk({ types: types as EventType[] }, (events) => events.forEach(name));
}

async function test({ id }: Row): Promise<Notice> {
  const { response, error, milliseconds } = await current().store.webhooks.test(id);
  change(id, { state: await current().store.webhooks.state(id) });
  const isError = response === undefined || response < 200 || response > 299;
  const answer = response === undefined ? `gave no answer (${error})` : `answered ${response}`;
  const meaning = isError ? "A delivery would fail too." : "That is a success.";
  return { text: `The receiver ${answer} after ${milliseconds} ms. ${meaning}`, isError };
}

async function enable({ id, enabled, etag: ifMatch }: Row): Promise<Notice> {
  const { webhooks } = current().store;
  const [patch, word] = [{ enabled: !enabled }, enabled ? "disabled" : "enabled"];
  const run = (options: object) => webhooks.update(id, patch, { ...options, ifMatch });
  const { webhook, etag } = await once(`webhook ${id} ${ifMatch} ${word}`, run);
  change(id, { ...webhook, etag, state: await webhooks.state(id) });
  const undo = () => enable(rows?.find((row) => row.id === id) as Row);
  return { text: `Webhook ${id} is ${word}.`, undo };
}

async function rotate({ id }: Row): Promise<Notice> {
  change(id, { secret: await current().store.webhooks.rotateSecret(id) });
  return { text: `Webhook ${id} has a new secret, which is shown.` };
}

async function replay({ id }: Row, hours: number): Promise<Notice> {
  const state = await current().store.webhooks.replay(id, await placeBefore(Date.now() - hours * HOUR));
  change(id, { state });
  const undo = async () => {
    await current().store.webhooks.stopReplay(id);
    change(id, { state: await current().store.webhooks.state(id) });
    return { text: "The replay is stopped." };
  };
  return { text: `Webhook ${id} delivers again what it had passed. The receiver may get an event twice.`, undo };
}

/**
 * The last place of the feed before a time, in milliseconds since the epoch. In a feed that begins later, it is after the first event.
 *
 * @throws Error in words when it is too far.
 */
async function placeBefore(time: number): Promise<string> {
  let [before, count]: [string | undefined, number] = [undefined, -1];
  const rest = await walk({ types: readable() }, (page, cursor) => {
    if (count === -1) count = page.findIndex(({ timestamp }) => Date.parse(timestamp) >= time);
    if (count === -1) before = cursor;
  });
  if (rest !== undefined && count === -1) throw new Error("The place is too far in the feed. Choose a longer time.");
  if (count === -1 || (count === 0 && before !== undefined)) return before ?? "";
  const page = await current().store.events.list({ cursor: before, limit: Math.max(1, count), types: readable() });
  return page.cursor;
}

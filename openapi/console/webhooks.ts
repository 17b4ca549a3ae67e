// The webhooks: whether each delivers, and what its receiver answered.
import { html, nothing } from "lit-html";
import type { Delivery, EventType, Webhook, WebhookState } from "../../client/src/index.ts";
import { eventOf, isOldest, mayReadFeed, past, placeBefore, readFeed, reading, textOf, WORDS } from "./feed.ts";
import { type Action, button, choice, type Ended, type Run, time } from "./page.ts";
import { type Attempt, may, store } from "./session.ts";
import { AT_ONCE, tableView } from "./table.ts";

type Row = Webhook & { etag: string; state?: WebhookState };

const HOUR = 3_600_000;
const SINCE = Object.entries({ 1: "the last hour", 24: "the last 24 hours", 168: "the last 7 days" });
const ROTATE = "Make a new secret? For 24 hours, deliveries are signed with both. Give the new one to the receiver.";

/** What is shown of each on demand. */
const opened = new Map<bigint, { deliveries: Delivery[]; cursor: string | undefined }>();

export const webhooks = tableView<Row>({
  title: "Webhooks",
  kind: "webhook",
  isAllowed: () => may("webhooks:manage"),
  list: (signal) => store.webhooks.list({ limit: AT_ONCE, etags: true }, { signal }).page(),
  fetch: (id) => store.webhooks.get(id).then(({ webhook, etag }) => ({ ...webhook, etag })),
  complete: (rows) =>
    Promise.all(rows.map((row) => Promise.all([fetchState(row), opened.has(row.id) && fetchDeliveries(row.id)]))),
  head: () => nothing,
  empty: () =>
    html`No program gets the events. <a href="/docs/webhooks">A webhook</a> brings them to one, for example to the accounting.`,
  nameOf: ({ id }) => `webhook ${id}`,
  viewOf({ url, types, enabled, disabledReason, state }) {
    const { health = "ok", pending, lastSuccessAt, nextAttemptAt, replay } = state ?? {};
    const gone = disabledReason === "gone" ? ", because its receiver answered 410" : "";
    const failing = "Its receiver takes nothing. It goes on by itself when the receiver is back.";
    const word = !enabled ? "disabled" : health === "ok" ? "enabled" : "fails";
    const missing = (Object.keys(WORDS) as EventType[]).filter((type) => !types.includes(type));
    return html`
      <strong>${url}</strong> <span class="state ${word}">${word}</span>
      <p>${enabled ? "" : `It delivers nothing${gone}. When it is enabled, it goes on where it stood.`} ${word === "fails" ? failing : ""}</p>
      <p>Deliveries that wait: ${pending} · last success ${lastSuccessAt ? time(lastSuccessAt) : "never"}${next(nextAttemptAt)}${replay ? " · a replay runs" : ""}</p>
      <p>Hears of: ${types.map((type) => WORDS[type as EventType] ?? type).join(", ")}. ${missing.length === 0 ? nothing : html`<b>Not of</b>: ${missing.map((type) => WORDS[type]).join(", ")}.`}</p>`;
  },
  actions(row) {
    const { id, enabled } = row;
    const rotate = async () => `The new secret is ${await store.webhooks.rotateSecret(id)}`;
    const replay: Action["run"] = (_, value) => replaySince(id, value("since"));
    const fields = () => choice("Deliver again what happened in", "since", SINCE);
    return [
      opened.has(id)
        ? { label: "Hide deliveries", run: () => void opened.delete(id) }
        : { label: "Deliveries", isPrimary: true, run: () => fetchDeliveries(id) },
      { label: "Test", run: () => test(id) },
      ...(mayReadFeed() ? [{ label: "Replay", fields, run: replay }] : []),
      { label: enabled ? "Disable" : "Enable", run: (once) => once((attempt) => enable(row, !enabled, attempt)) },
      { label: "Show secret", run: async () => `The secret is ${await store.webhooks.secret(id)}` },
      { label: "Rotate secret", question: ROTATE, run: rotate },
    ];
  },
  below({ id }, acting) {
    const { deliveries, cursor } = opened.get(id) ?? {};
    if (deliveries === undefined) return nothing;
    return html`<ul class="deliveries" aria-label="Deliveries of webhook ${id}">${deliveries.map((delivery) => deliveryOf(id, delivery, acting))}</ul>
      ${deliveries.length === 0 ? "Nothing was delivered yet, and nothing waits." : nothing}
      ${cursor ? button(`older-${id}`, "Show older deliveries", () => fetchDeliveries(id, cursor, deliveries)) : nothing}`;
  },
});

/** When a delivery is tried next. A time that has passed says nothing. */
const next = (at = "") => (Date.parse(at) > Date.now() ? html` · next attempt ${time(at)}` : nothing);

function deliveryOf(id: bigint, delivery: Delivery, acting: (run: Run) => Run) {
  const { event, type, status, attempts, response, error, replay, lastAttemptAt, nextAttemptAt } = delivery;
  const known = eventOf(event);
  const replayHere = acting(() => replayFrom(id, event));
  const isPassed = known && status !== "pending" && !isOldest(event);
  return html`<li>
    <span class="state ${status}">${status}</span> ${known ? textOf(known) : (WORDS[type as EventType] ?? type)}${replay ? " (replay)" : ""}
    <small>${response === undefined ? (error ?? "no answer yet") : `answered ${response}`} · attempts: ${attempts}${lastAttemptAt ? html` · ${time(lastAttemptAt)}` : nothing}${next(nextAttemptAt)} · <code>${event}</code></small>
    ${isPassed ? button(`from-${id}-${event}`, "Replay from here", replayHere, event) : nothing}
  </li>`;
}

const fetchState = async (row: Row) => void (row.state = await store.webhooks.state(row.id));

async function fetchDeliveries(id: bigint, from?: string, before: Delivery[] = []): Promise<void> {
  const { deliveries, cursor } = await store.webhooks.deliveries(id, { limit: AT_ONCE, cursor: from });
  // Who has opened it waits for the past. Afterwards, what is new is enough.
  const requests = opened.has(id) ? 1 : undefined;
  opened.set(id, { deliveries: [...before, ...deliveries], cursor });
  if (mayReadFeed()) await readFeed(undefined, requests);
}

async function test(id: bigint): Promise<Ended> {
  const { response, error, milliseconds } = await store.webhooks.test(id);
  const isError = response === undefined || response < 200 || response > 299;
  const answer = response === undefined ? `gave no answer (${error})` : `answered ${response}`;
  const meaning = isError ? "A delivery would fail too." : "That is a success.";
  return { text: `The receiver ${answer} after ${milliseconds} ms. ${meaning}`, isError };
}

async function enable({ id, etag: ifMatch }: Row, enabled: boolean, attempt?: Attempt): Promise<Ended> {
  const { webhook, etag } = await store.webhooks.update(id, { enabled }, { ...attempt, ifMatch });
  const undo = () => enable({ ...webhook, etag }, !enabled);
  return { text: `Webhook ${id} is ${enabled ? "enabled" : "disabled"}.`, undo };
}

async function replaySince(id: bigint, hours: string): Promise<Ended> {
  await readFeed();
  const since = Date.now() - Number(hours) * HOUR;
  const first = past().find(({ timestamp }) => Date.parse(timestamp) >= since);
  if (first) return replayFrom(id, first.id);
  if (reading === "ended") throw new Error("Nothing happened since then.");
  throw new Error("The feed is long, and not read up to then. Nothing is replayed yet. Try again to read on.");
}

async function replayFrom(id: bigint, event: string): Promise<Ended> {
  await store.webhooks.replay(id, await placeBefore(event));
  const undo = () => store.webhooks.stopReplay(id).then(() => "The replay is stopped.");
  const except = isOldest(event) ? " but the oldest event of the feed" : "";
  const text = `Webhook ${id} delivers again what it had passed${except}. The receiver may get an event twice.`;
  return { text, undo };
}

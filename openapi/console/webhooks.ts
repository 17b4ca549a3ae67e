// The webhooks: whether each delivers, and what its receiver answered.
import { html, nothing } from "lit-html";
import type { Delivery, PetStoreError, Webhook, WebhookState } from "../../client/src/index.ts";
import { allRead, isAll, mayReadFeed, past, readFeed, textOf, WORDS, wordsOf } from "./feed.ts";
import { type Action, choice, type Ended, refuse, time } from "./page.ts";
import { type Attempt, may, store } from "./session.ts";
import { absent, AT_ONCE, tableView } from "./table.ts";

type Row = Webhook & { etag: string; state?: WebhookState; deliveries?: Delivery[] };
const HOUR = 3_600_000;
const SINCE = Object.entries({ 1: "the last hour", 24: "the last 24 hours", 168: "the last 7 days" });
const ROTATE = "Make a new secret? For 24 hours, deliveries are signed with both. Give the new one to the receiver.";
const opened = new Set<bigint>();

export const webhooks = tableView<Row>({
  title: "Webhooks",
  kind: "webhook",
  isAllowed: () => may("webhooks:manage"),
  list: (signal) => store.webhooks.list({ limit: AT_ONCE, etags: true }, { signal }).page(),
  fetch: async ([id = 0n]) => store.webhooks.get(id).then(({ webhook, etag }) => [{ ...webhook, etag }], absent),
  complete: (rows) => Promise.all(rows.map(complete)),
  empty: () => html`No program gets the events. <a href="/docs/webhooks">A webhook</a> brings them to one.`,
  viewOf({ id, url, types, enabled, disabledReason, state, deliveries }) {
    const { health = "ok", pending, lastSuccessAt, nextAttemptAt, replay } = state ?? {};
    const gone = disabledReason === "gone" ? ", because its receiver answered 410" : "";
    const failing = "Its receiver takes nothing. It goes on when the receiver is back.";
    const word = !enabled ? "disabled" : health === "ok" ? "enabled" : "fails";
    const missing = Object.keys(WORDS).filter((type) => !types.includes(type as "pet.created"));
    return html`<strong>${url}</strong> <span class="state ${word}">${word}</span>
      <p>${enabled ? "" : `It delivers nothing${gone}. Enabled, it goes on where it stood.`} ${word === "fails" ? failing : ""}</p>
      <p>Deliveries that wait: ${pending} · last success ${lastSuccessAt ? time(lastSuccessAt) : "never"}${next(nextAttemptAt)}${replay ? " · a replay runs" : ""}</p>
      <p>Hears of: ${types.map(wordsOf).join(", ")}. ${missing.length === 0 ? nothing : html`<b>Not of</b>: ${missing.map(wordsOf).join(", ")}.`}</p>
      ${deliveries ? deliveriesOf(id, deliveries) : nothing}`;
  },
  actions(row) {
    const { id, enabled } = row;
    const toggle = async () => void (opened.delete(id) || opened.add(id));
    const rotate = async () => ({ text: `The new secret is ${await store.webhooks.rotateSecret(id).catch(unsure)}` });
    const again: Action["run"] = (_, { since }) => replay(id, Number(since));
    const fields = () => choice("Deliver again what happened in", "since", SINCE);
    return [
      { label: opened.has(id) ? "Hide deliveries" : "Deliveries", isPrimary: true, run: toggle },
      { label: "Test", run: () => test(id) },
      ...(mayReadFeed() ? [{ label: "Replay", fields, run: again }] : []),
      { label: enabled ? "Disable" : "Enable", run: (once) => once((attempt) => enable(row, !enabled, attempt)) },
      { label: "Show secret", run: async () => ({ text: `The secret is ${await store.webhooks.secret(id)}` }) },
      { label: "Rotate secret", question: ROTATE, run: rotate },
    ];
  },
});

/** A second rotation would drop the secret that the receiver has. */
function unsure(error: PetStoreError): never {
  const { status } = error;
  if (status !== undefined && status < 500) throw error;
  return refuse(
    "The service did not answer. There may be a new secret: press Show secret, before you make another one.",
  );
}

/** When a delivery is tried next. A time that has passed says nothing. */
const next = (at = "") => (Date.parse(at) > Date.now() ? html` · next attempt ${time(at)}` : nothing);

function deliveriesOf(id: bigint, deliveries: Delivery[]) {
  const events = allRead();
  const rowOf = ({ event, type, status, attempts, response, error, replay, ...at }: Delivery) => {
    const known = events.get(event);
    return html`<li>
      <span class="state ${status}">${status}</span> ${known ? textOf(known) : wordsOf(type)}${replay ? " (replay)" : ""}
      <small>${response === undefined ? `no answer (${error ?? "not tried"})` : `answered ${response}`} · attempts: ${attempts}${at.lastAttemptAt ? html` · ${time(at.lastAttemptAt)}` : nothing}${next(at.nextAttemptAt)} · <code>${event}</code></small></li>`;
  };
  return html`<ul class="deliveries" aria-label="Deliveries of webhook ${id}">${deliveries.map(rowOf)}</ul>
    ${deliveries.length === 0 ? "Nothing was delivered yet, and nothing waits." : nothing}`;
}

async function complete(row: Row): Promise<void> {
  row.state = await store.webhooks.state(row.id);
  if (!opened.has(row.id)) return;
  row.deliveries = (await store.webhooks.deliveries(row.id, { limit: 100 })).deliveries;
  // Who sees events for the first time waits for the past. Afterwards, what is new is enough.
  if (mayReadFeed()) await readFeed(past.length === 0 ? undefined : 1);
}

async function test(id: bigint): Promise<Ended> {
  const { response = 0, error, milliseconds } = await store.webhooks.test(id);
  const isError = response < 200 || response > 299;
  const answer = response === 0 ? `gave no answer (${error})` : `answered ${response}`;
  return {
    text: `The receiver ${answer} after ${milliseconds} ms.${isError ? " A delivery would fail too." : ""}`,
    isError,
  };
}

async function enable({ id, etag: ifMatch }: Row, enabled: boolean, attempt?: Attempt): Promise<Ended> {
  const { webhook, etag } = await store.webhooks.update(id, { enabled }, { ...attempt, ifMatch });
  const undo = () => enable({ ...webhook, etag }, !enabled);
  return { text: `Webhook ${id} is ${enabled ? "enabled" : "disabled"}.`, undo };
}

/** Delivers again what happened in the last hours. The place in the feed is that before a page. */
async function replay(id: bigint, hours: number): Promise<Ended> {
  await readFeed();
  const first = past.find(({ timestamp }) => Date.parse(timestamp) >= Date.now() - hours * HOUR);
  const unread = "The feed is long, and not read up to then. Try again to read on.";
  if (!first) throw new Error(isAll ? "Nothing happened since then." : unread);
  // The feed has no place before its oldest event.
  await store.webhooks.replay(id, first.before ?? (await store.events.list({ limit: 1 })).cursor);
  const undo = () => store.webhooks.stopReplay(id).then(() => ({ text: "The replay is stopped." }));
  const except = first === past[0] ? " The oldest event cannot come again." : "";
  const text = `Webhook ${id} delivers again what it had passed.${except}`;
  return { text: `${text} It may send an event twice.`, undo };
}

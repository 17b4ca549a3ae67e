import { InvalidArgumentError } from "commander";
import type { Delivery } from "../../client/src/index.ts";
import { query } from "../release/database.ts";
import type { Service } from "./command-line.ts";
import { describeDelivery, describeHealth, type ListedWebhook, readWebhooks } from "./state.ts";

const PAGE = 100;

/** An event by its id, or a resource by its kind and its id. */
export type Subject = { event: string } | { kind: string; id: string };

/** @throws InvalidArgumentError */
export function toSubject(value: string): Subject {
  if (/^evt_[0-9a-f]{24}$/.test(value)) return { event: value };
  const [, kind, id] = /^(pet|category|order)\/(\d{1,19})$/.exec(value) ?? [];
  if (kind === undefined || id === undefined)
    throw new InvalidArgumentError("It takes an event (evt_...) or a resource (pet/7, category/7, order/7).");
  return { kind, id };
}

/** What became of the deliveries of an event or of a resource, for each webhook. @throws Error when the service fails. */
export async function explain(service: Service, subject: Subject): Promise<string> {
  const events = await findEvents(service, subject);
  if (events.length === 0) return "The feed has no such event: it never had, or keeps events for EVENT_DAYS only.";
  const lines = events.map(({ event, type, at }) => `${event} ${type} at ${at}`);
  for (const webhook of await readWebhooks(service.session)) {
    lines.push(`\nWebhook ${webhook.id} (${new URL(webhook.url).host}): ${describeHealth(webhook)}`);
    const deliveries = await deliveriesOf(service, webhook);
    for (const { event, type } of events) {
      const delivery = deliveries.get(event);
      lines.push(
        `  ${delivery === undefined ? `${event} ${type}: ${reasonOf(webhook, event, type)}` : describeDelivery(delivery)}`,
      );
    }
  }
  return lines.join("\n");
}

/** Why a webhook has no delivery of an event. */
function reasonOf({ types, enabled, state }: ListedWebhook, event: string, type: string): string {
  if (!types.some((one) => one === type)) return "it does not take this type";
  // A cursor begins with the place, as the id of an event does.
  if (event.slice("evt_".length) > state.cursor.slice(0, 24))
    return enabled ? "not read yet" : "waits until the webhook is enabled";
  return "no delivery is kept: it is older than the webhook or the last 1,000 deliveries, or the type was added later";
}

/** The newest delivery of each event. */
async function deliveriesOf({ session }: Service, { id }: ListedWebhook): Promise<Map<string, Delivery>> {
  const newestFirst: Delivery[] = [];
  for (let cursor: string | undefined, isFirst = true; isFirst || cursor !== undefined; isFirst = false) {
    const page = await session.webhooks.deliveries(id, { limit: PAGE, cursor });
    newestFirst.push(...page.deliveries);
    cursor = page.cursor;
  }
  return new Map(newestFirst.toReversed().map((one) => [one.event, one]));
}

/** The events of a subject in the feed, the last 20. */
async function findEvents({ cloudflare, database }: Service, subject: Subject) {
  const condition =
    "event" in subject
      ? `id = ${BigInt.asIntN(64, BigInt(`0x${subject.event.slice(4, 20)}`))} AND printf('%08x', tag) = '${subject.event.slice(20)}'`
      : `type LIKE '${subject.kind}.%' AND data ->> '$.id' = ${subject.id}`;
  return query<{ event: string; type: string; at: string }>(
    cloudflare,
    database,
    `SELECT event, type, at FROM (SELECT id, 'evt_' || printf('%016x%08x', id, tag) AS event, type, created_at AS at
       FROM events WHERE ${condition} ORDER BY id DESC LIMIT 20) ORDER BY id`,
  );
}

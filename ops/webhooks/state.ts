import type { Delivery, Webhook, WebhookState } from "../../client/src/index.ts";
import type { Session } from "./service.ts";

/** More than the service has. */
export const MAX_WEBHOOKS = 1_000;
/** The newest deliveries, among which the last problem is looked for. */
const NEWEST = 100;

/** A webhook, what it does now, and its last delivery that did not succeed, as far as the newest ones have one. */
export type ListedWebhook = Webhook & { state: WebhookState; problem: Delivery | undefined };

export async function readWebhooks({ webhooks }: Session): Promise<ListedWebhook[]> {
  const all = await webhooks.list().all(MAX_WEBHOOKS);
  return Promise.all(
    all.map(async (webhook) => {
      const [state, { deliveries }] = await Promise.all([
        webhooks.state(webhook.id),
        webhooks.deliveries(webhook.id, { limit: NEWEST }),
      ]);
      const problem = deliveries.find(({ status, attempts }) => status !== "delivered" && attempts > 0);
      return { ...webhook, state, problem };
    }),
  );
}

/** Whether its receiver gets nothing although its owner wants that. */
export const isIll = ({ enabled, disabledReason, state }: ListedWebhook): boolean =>
  enabled ? state.health !== "ok" : disabledReason !== undefined;

export function describeHealth({ enabled, disabledReason, state, problem }: ListedWebhook): string {
  const { health, pending, lastSuccessAt } = state;
  const now = enabled ? health : `disabled${disabledReason === undefined ? "" : ` (${disabledReason})`}`;
  const last = problem === undefined ? "" : `, last problem ${describeDelivery(problem)}`;
  return `${now}, ${pending} pending, last success ${lastSuccessAt ?? "never"}${last}`;
}

export function describeDelivery({ event, type, status, attempts, response, error, ...times }: Delivery): string {
  const answer = response ?? error;
  const last = times.lastAttemptAt === undefined ? "" : `, the last at ${times.lastAttemptAt}`;
  const next = times.nextAttemptAt === undefined ? "" : `, the next at ${times.nextAttemptAt}`;
  const met = answer === undefined ? "" : `, ${answer}`;
  return `${event} ${type}: ${status}${met}, attempts ${attempts}${last}${next}`;
}

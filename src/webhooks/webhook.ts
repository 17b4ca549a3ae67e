import { eq, sql } from "drizzle-orm";
import type { Context } from "hono";
import * as z from "zod/mini";
import { limitWork, RESOURCES_OF_A_REQUEST } from "../auth/rate-limit.ts";
import { jsonObjectOf } from "../db/json-object.ts";
import type { Resource } from "../db/resource.ts";
import { compile, type Parameter } from "../db/statement.ts";
import type { AppEnv } from "../env.ts";
import { ApiError, outcomeUnknown, serviceUnavailable } from "../errors.ts";
import type { Int64 } from "../exact/int64.ts";
import { EVENT_TYPES, type EventType, scopeOf } from "../feed/table.ts";
import { apiKeyOf } from "../http/authentication.ts";
import { openSession } from "../http/open-session.ts";
import { isFromForeignPage } from "../http/origin.ts";
import { idIn } from "../http/path.ts";
import { refusePreconditions } from "../http/precondition.ts";
import { json } from "../http/respond.ts";
import { integerField, rule, someOf } from "../http/validation.ts";
import { withFacts } from "../operation.ts";
import type { WebhookEndpoint } from "./engine/endpoint.ts";
import { webhooks } from "./table.ts";
import { MAX_URL_CHARACTERS, receiverUrl } from "./url.ts";

export const MAX_WEBHOOKS = 10;
export const MAX_TYPES = 100;
/** Attempts of a webhook at once. An invocation of a Worker has six connections that wait for the headers of a response (Workers documentation, Limits). */
export const MAX_CONCURRENCY = 6;

/** Requests as which a creation and a test count: both reach a host whose budget begins with its webhook. */
const COUNTS_AS = 10;

export const [webhookId, noSuchWebhook] = idIn("webhookId", "webhook");

/** A webhook as clients see it. Its object has the secret and the state. */
export interface Webhook {
  id: number;
  url: string;
  types: EventType[];
  enabled: boolean;
  disabledReason?: string;
  createdBy: string;
  createdAt: string;
  concurrency: number;
}

export const webhook: Resource<Webhook, typeof webhooks> = {
  table: webhooks,
  body: () =>
    jsonObjectOf<Webhook>(
      {
        id: webhooks.id,
        url: webhooks.url,
        types: sql`json(${webhooks.types})`,
        enabled: sql`json(iif(${webhooks.enabled}, 'true', 'false'))`,
        createdBy: webhooks.createdBy,
        createdAt: webhooks.createdAt,
        concurrency: webhooks.concurrency,
      },
      { disabledReason: webhooks.disabledReason },
    ),
};

/** SQL for the name of its object. */
export const objectName = sql<string>`${webhooks.id} || '-' || ${webhooks.tag}`;

const urlRule = rule(
  `an https address of at most ${MAX_URL_CHARACTERS} characters, with a public DNS name as its host, and without port, user, password and fragment`,
);

/** Anything but a text is refused before the body is read further. `urlOf` refuses the rest. */
export const urlField = () => z.string(urlRule);

/**
 * The address in the form in which it is stored. `http` is on this machine, in local development: a page of another site could send
 * requests to every port here, and learn which ones respond.
 *
 * @throws ApiError `invalid_request` for one that may not receive deliveries.
 */
export function urlOf(c: Context<AppEnv>, url: string): string {
  const address = receiverUrl(url, c.env);
  if (address === undefined || (address.startsWith("http:") && isFromForeignPage(c)))
    throw new ApiError("invalid_request", `url ${urlRule.error({ input: url })}.`);
  return address;
}

export const typesField = () => someOf(EVENT_TYPES, MAX_TYPES);

export const concurrencyField = () => integerField(1, MAX_CONCURRENCY);

/** The types that the key of the request may read. */
export function readableTypes(c: Context<AppEnv>): EventType[] {
  const { scopes } = apiKeyOf(c);
  return EVENT_TYPES.filter((type) => scopes.includes(scopeOf(type)));
}

/** A refusal for lack of a scope, and a failure of storage, have no bookmark in any operation. */
export function dropBookmark(c: Context<AppEnv>): void {
  const usage = c.get("database");
  if (usage !== undefined) usage.bookmark = undefined;
}

/**
 * Refuses both preconditions. The version of a webhook tells nothing of its secret, its state and its deliveries.
 *
 * @throws ApiError `invalid_request`
 */
export const refuseVersions = (c: Context<AppEnv>): void =>
  refusePreconditions(c, "this part of a webhook has no version");

/** Which object a webhook has, and whether the webhook is enabled. */
export const selectObject = compile("webhooks.object", (db, parameter: Parameter<{ id: Int64 }>) =>
  db
    .select({ name: objectName.as("name"), enabled: webhooks.enabled })
    .from(webhooks)
    .where(eq(webhooks.id, parameter("id"))),
);

/** Whether a request changes nothing. */
const isRead = (c: Context<AppEnv>) => c.req.method === "GET" || c.req.method === "HEAD";

/**
 * Asks the object of the webhook in the path.
 *
 * @param run a call of it, with its name.
 * @throws ApiError `not_found`, `invalid_request` for preconditions, or `service_unavailable` when the object does not answer.
 */
export async function askObject<Result>(
  c: Context<AppEnv, "/:webhookId">,
  run: (object: DurableObjectStub<WebhookEndpoint>, name: string) => Promise<Result>,
): Promise<Result> {
  refuseVersions(c);
  const session = openSession(c);
  const select = selectObject({ id: webhookId(c) });
  // What changes the object asks the primary: a replica may lag.
  const [row] = isRead(c) ? await session.read(select) : await session.readFromPrimary(select);
  if (row === undefined) throw noSuchWebhook();
  return ask(c, row.name, run);
}

/** The same for a webhook whose name is known. */
export async function ask<Result>(
  c: Context<AppEnv>,
  name: string,
  run: (object: DurableObjectStub<WebhookEndpoint>, name: string) => Promise<Result>,
): Promise<Result> {
  try {
    return await run(c.env.WEBHOOKS.getByName(name), name);
  } catch (cause) {
    dropBookmark(c);
    // Another end of a replay would end one that began meanwhile.
    throw isRead(c) ? serviceUnavailable(cause) : outcomeUnknown(cause);
  }
}

/** The handler of an operation that responds with what the object answers. */
export const asks = <Result>(
  operationId: string,
  run: (object: DurableObjectStub<WebhookEndpoint>, name: string) => Promise<Result>,
) => withFacts(async (c: Context<AppEnv, "/:webhookId">) => json(c, await askObject(c, run), 200), { operationId });

/**
 * Counts a request that makes the service call a host which may never have taken a delivery.
 *
 * @throws ApiError `rate_limited`, or `service_unavailable` when the limiter cannot respond.
 */
export async function limitCalls(c: Context<AppEnv>): Promise<void> {
  const key = apiKeyOf(c);
  await limitWork(c.env, key, key.id, COUNTS_AS * RESOURCES_OF_A_REQUEST);
}

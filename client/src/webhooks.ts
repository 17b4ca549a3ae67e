import * as fields from "./fields.ts";
import { fits, type Fields } from "./fits.ts";
import type { Int64Input } from "./int64.ts";
import { List, nextCursor, search } from "./list.ts";
import type { ReadOptions, RequestOptions } from "./options.ts";
import {
  type ChangeOptions,
  type Created,
  type CreateOptions,
  type GetOptions,
  type Got,
  Resource,
  type Scope,
  type UpdateOptions,
} from "./requests.ts";
import type { operations } from "./schema.ts";
import type {
  Delivery,
  DeliveryStatus,
  Etags,
  Listed,
  NewWebhook,
  Webhook,
  WebhookPatch,
  WebhookQuery,
  WebhookState,
  WebhookTest,
  WithEtags,
} from "./shapes.ts";

/** Which deliveries to list. */
export interface DeliveryQuery extends RequestOptions {
  /** Only those with this status. */
  status?: DeliveryStatus | undefined;
  /** The largest number of deliveries in a page. 20 unless given, and 100 at most. */
  limit?: number | undefined;
  /** The place of an earlier page. */
  cursor?: string | undefined;
}

/** A part of the list of deliveries. */
export interface DeliveryPage {
  /** The newest first. */
  readonly deliveries: Delivery[];
  /** Where the next page starts. Undefined on the last one. */
  readonly cursor: string | undefined;
}

const STATE: Fields = { health: "string", pending: "number", cursor: "string", resets: "number" };
const SECRET = { secret: "string" };
type WithSecret = { secret: string };
const DELIVERY = fits({ event: "string", type: "string", status: "string", attempts: "number" });
const isDeliveries = (value: unknown) => Array.isArray(value) && value.every(DELIVERY);

/** The webhooks, which deliver events to receivers. */
export class Webhooks {
  readonly #webhooks: Resource<"webhook", Webhook>;

  constructor(scope: Scope) {
    this.#webhooks = new Resource<"webhook", Webhook>(scope, "/webhooks", "webhook", fields.Webhook);
  }

  /**
   * Lists webhooks.
   *
   * @beta
   */
  list<Asked extends Etags = false>(
    query: WebhookQuery & WithEtags<Asked> = {},
    options: ReadOptions = {},
  ): List<Listed<Webhook, Asked>> {
    return this.#webhooks.list("listWebhooks", query, options);
  }

  /**
   * Adds a webhook, exactly once. It delivers the events that follow: lists of the same session have what was there before.
   *
   * @beta
   */
  async create(webhook: NewWebhook, options: CreateOptions = {}): Promise<Created & { webhook: Webhook }> {
    return this.#webhooks.create("createWebhook", webhook, options);
  }

  /**
   * Fetches a webhook.
   *
   * @beta
   */
  async get<Etag extends string | undefined = never>(
    id: Int64Input,
    options: GetOptions<Etag> = {},
  ): Promise<Got<{ webhook: Webhook }, Etag>> {
    return this.#webhooks.get("getWebhook", id, options);
  }

  /**
   * Changes the given fields of a webhook, exactly once. Without `ifMatch`, the last change wins.
   *
   * @beta
   */
  async update(
    id: Int64Input,
    patch: WebhookPatch,
    options: UpdateOptions = {},
  ): Promise<Created & { webhook: Webhook }> {
    return this.#webhooks.change("updateWebhook", id, patch, options);
  }

  /**
   * Deletes a webhook. When a response is lost and the webhook is then gone, the deletion has succeeded.
   *
   * @beta
   */
  async delete(id: Int64Input, options: ChangeOptions = {}): Promise<void> {
    await this.#webhooks.remove("deleteWebhook", this.#webhooks.pathOf(id), options, true);
  }

  /**
   * Fetches what a webhook does now.
   *
   * @beta
   */
  async state(id: Int64Input, options: RequestOptions = {}): Promise<WebhookState> {
    return this.#ask("getWebhookState", "GET", `${this.#webhooks.pathOf(id)}/state`, STATE, options);
  }

  /**
   * Fetches the newest secret.
   *
   * @beta
   */
  async secret(id: Int64Input, options: RequestOptions = {}): Promise<string> {
    const path = `${this.#webhooks.pathOf(id)}/secret`;
    return (await this.#ask<WithSecret>("getWebhookSecret", "GET", path, SECRET, options)).secret;
  }

  /**
   * Makes a new secret. For 24 hours, deliveries have a signature with the one before too. After a lost response, the client does not
   * rotate again, which would drop the one before: `secret` tells the newest one.
   *
   * @beta
   */
  async rotateSecret(id: Int64Input, options: RequestOptions = {}): Promise<string> {
    const path = `${this.#webhooks.pathOf(id)}/rotate-secret`;
    return (await this.#ask<WithSecret>("rotateWebhookSecret", "POST", path, SECRET, options)).secret;
  }

  /**
   * Sends a test to the receiver, and tells how it responded.
   *
   * @beta
   */
  async test(id: Int64Input, options: RequestOptions = {}): Promise<WebhookTest> {
    return this.#ask("testWebhook", "POST", `${this.#webhooks.pathOf(id)}/test`, { milliseconds: "number" }, options);
  }

  /**
   * Delivers the events from a place in the feed up to the place that the webhook has reached, beside the new ones. One replay runs at
   * a time: another one rejects with `replay_running`. After a lost response, `state` tells whether this one runs.
   *
   * @param cursor a cursor of the feed, or `latest` to go on from the present end. That drops everything that waits, and the state says
   *   what it skips.
   * @beta
   */
  async replay(id: Int64Input, cursor: string, options: RequestOptions = {}): Promise<WebhookState> {
    return this.#ask("replayWebhook", "POST", `${this.#webhooks.pathOf(id)}/replay`, STATE, options, { cursor });
  }

  /**
   * Stops the replay that runs, if there is one, and drops its deliveries that wait.
   *
   * @beta
   */
  async stopReplay(id: Int64Input, options: RequestOptions = {}): Promise<void> {
    await this.#webhooks.remove("stopReplay", `${this.#webhooks.pathOf(id)}/replay`, options, false);
  }

  /**
   * Fetches a page of deliveries, the newest first.
   *
   * @beta
   */
  async deliveries(id: Int64Input, { status, limit, cursor, ...options }: DeliveryQuery = {}): Promise<DeliveryPage> {
    const { value, headers } = await this.#webhooks.send({
      ...options,
      operation: "listDeliveries",
      method: "GET",
      path: `${this.#webhooks.pathOf(id)}/deliveries`,
      query: search({ status, limit, cursor }),
      expects: isDeliveries,
    });
    return { deliveries: value as Delivery[], cursor: nextCursor(headers) };
  }

  async #ask<Result>(
    operation: keyof operations,
    method: "GET" | "POST",
    path: string,
    fields: Fields,
    options: RequestOptions,
    body?: object,
  ): Promise<Result> {
    const call = { ...options, operation, method, path, expects: fits(fields), body };
    return (await this.#webhooks.send(call)).value as Result;
  }
}

import type { ErrorCode } from "../src/errors.ts";

export const WHEN: { readonly [Code in ErrorCode]: string } = {
  invalid_request:
    "The body, the query or a header breaks a rule, or the query has a parameter that the operation does not declare. The message lists every invalid field.",
  unauthorized: "The API key or the customer token is missing or not valid.",
  insufficient_scope:
    "The API key or the customer token lacks the scope that the operation needs, or customer tokens cannot use it.",
  origin_not_allowed: "A page of another origin called `/mcp`.",
  not_found: "The resource or the path does not exist.",
  method_not_allowed: "The path does not support the method. `Allow` lists those it supports.",
  request_timeout: "The request body was not complete within 10 seconds.",
  category_exists: "Another category has this name.",
  category_in_use: "An animal names the category.",
  external_id_taken: "Another animal has this `externalId`.",
  pet_on_order: "An order that is not cancelled names the animal whose status is changed, or that is deleted.",
  pet_not_available: "The animal of the order does not exist, is not available, or was sold by an order.",
  order_shipped: "The order to cancel is shipped.",
  order_cancelled: "The order to ship is cancelled.",
  order_limit: "The customer of the token has as many placed orders as the token allows.",
  webhook_limit: "There are 10 webhooks already.",
  webhook_disabled: "The webhook is disabled.",
  replay_running: "A replay of the webhook runs.",
  cursor_expired: "The feed of events no longer has, or never had, the place that the cursor names.",
  precondition_failed:
    "The present version does not meet `If-Match` or `If-None-Match`, or is not the `version` that a batch names.",
  payload_too_large: "The request body is larger than 64 KiB.",
  unsupported_media_type: "The media type or the `Content-Encoding` of the request body is not supported.",
  idempotency_key_reused: "The `Idempotency-Key` was used for another request.",
  rate_limited:
    "The API key, the customer, or all customer tokens of the key together have sent too many requests, or their changes have stored too much.",
  internal_error: "The service has a bug.",
  service_unavailable: "Storage cannot respond.",
};

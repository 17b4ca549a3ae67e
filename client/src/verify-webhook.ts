import { parseExact } from "./json.ts";
import type { WebhookEvent } from "./shapes.ts";

/** Why a delivery is not accepted. */
export type WebhookVerificationCode = "missing_header" | "invalid_timestamp" | "too_old" | "too_new" | "no_match";

/** A request that is no delivery of the service, or an old one that somebody sends again. Respond with 400. */
export class WebhookVerificationError extends Error {
  override readonly name = "WebhookVerificationError";
  readonly code: WebhookVerificationCode;

  constructor(code: WebhookVerificationCode, message: string) {
    super(message);
    this.code = code;
  }
}

/** How to verify a delivery. */
export interface VerifyOptions {
  /** The largest difference between its time and the clock here, in seconds. 300 unless given. */
  tolerance?: number | undefined;
  /** The time here, in milliseconds since the epoch. */
  now?: number | undefined;
}

/** Headers of a request: those of `fetch`, or an object like that of Node.js, with names in any case. */
export type WebhookHeaders = Headers | { readonly [name: string]: string | string[] | undefined };

const PREFIX = /^whsec_/;
const SECONDS = /^\d{1,15}$/;
const VERSION = "v1,";

/**
 * Verifies a delivery (Standard Webhooks 1.0).
 *
 * @param body of the request, as it was received: as text or as bytes, and before any parser.
 * @param secret of the webhook, or several while a rotation goes on.
 * @returns the event, with exact integers. Its `webhook-id` is `id`: a receiver applies each id once.
 * @throws WebhookVerificationError, or TypeError when a secret has another form, or when the body is parsed.
 */
export async function verifyWebhook(
  body: string | Uint8Array | ArrayBuffer,
  headers: WebhookHeaders,
  secret: string | readonly string[],
  { tolerance = 300, now = Date.now() }: VerifyOptions = {},
): Promise<WebhookEvent> {
  // A copy: what is verified has to be what is read, also when the receiver puts another body into its buffer meanwhile.
  const bytes = bytesOfBody(body).slice();
  const [id, timestamp, signatures] = ["webhook-id", "webhook-timestamp", "webhook-signature"].map((name) =>
    headerOf(headers, name),
  ) as [string, string, string];
  if (!SECONDS.test(timestamp))
    throw new WebhookVerificationError("invalid_timestamp", "webhook-timestamp is no number of seconds.");
  const age = now / 1000 - Number(timestamp);
  // Written so that a tolerance that is no number accepts nothing.
  if (!(age <= tolerance)) throw new WebhookVerificationError("too_old", "The delivery is too old.");
  if (!(age >= -tolerance)) throw new WebhookVerificationError("too_new", "The delivery is from the future.");

  const start = new TextEncoder().encode(`${id}.${timestamp}.`);
  const content = new Uint8Array(start.length + bytes.length);
  content.set(start);
  content.set(bytes, start.length);

  const sent = signatures.split(" ").flatMap((one) => (one.startsWith(VERSION) ? [one.slice(VERSION.length)] : []));
  for (const one of [secret].flat()) {
    const secretBytes = bytesOf(one.replace(PREFIX, ""));
    // Anybody can sign with an empty key, should a runtime take one.
    if (secretBytes.length === 0) throw new TypeError("A secret has to be whsec_ and base64.");
    const key = await crypto.subtle.importKey("raw", secretBytes, { name: "HMAC", hash: "SHA-256" }, false, ["verify"]);
    for (const signature of sent) {
      // Not a comparison of our own, whose time would tell how much is right.
      if (await crypto.subtle.verify("HMAC", key, bytesOf(signature), content))
        return parseExact(new TextDecoder().decode(bytes)) as WebhookEvent;
    }
  }
  throw new WebhookVerificationError("no_match", "No signature matches a secret.");
}

function bytesOfBody(body: string | Uint8Array | ArrayBuffer): Uint8Array {
  if (typeof body === "string") return new TextEncoder().encode(body);
  if (ArrayBuffer.isView(body)) return new Uint8Array(body.buffer, body.byteOffset, body.byteLength);
  // One of another realm is no instance of the ArrayBuffer here.
  if (Object.prototype.toString.call(body) === "[object ArrayBuffer]") return new Uint8Array(body);
  throw new TypeError("The body has to be as it was received, a text or bytes, before any parser.");
}

/** Works for every runtime: Node.js 24.21.0 lacks Uint8Array.fromBase64. Empty for anything else, which matches nothing. */
function bytesOf(base64: string): Uint8Array<ArrayBuffer> {
  try {
    return Uint8Array.from(atob(base64), (character) => character.charCodeAt(0));
  } catch {
    return new Uint8Array();
  }
}

function headerOf(headers: WebhookHeaders, name: string): string {
  const value: unknown =
    typeof headers.get === "function"
      ? headers.get(name)
      : Object.entries(headers).find(([one]) => one.toLowerCase() === name)?.[1];
  if (typeof value !== "string" || value === "")
    throw new WebhookVerificationError("missing_header", `The header ${name} is missing.`);
  return value;
}

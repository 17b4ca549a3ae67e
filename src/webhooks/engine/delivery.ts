import { type AddressSettings, receiverUrl } from "../url.ts";
import { retryAfterOf } from "./retry-after.ts";
import { sign } from "./signing.ts";

/** Milliseconds that an attempt lasts at most. */
export const TIMEOUT = 15_000;

/** How an attempt ended. */
export interface Outcome {
  /** The status, if there was a response. */
  response: number | undefined;
  error: "timeout" | "connection" | undefined;
  /** Milliseconds for which the receiver asked not to be called again. */
  retryAfter: number;
}

/**
 * Attempts a delivery: one POST, which follows no redirect. It never throws, and nobody ever sees the body of the response.
 *
 * @param secrets the newest first.
 * @param controller ends the attempt early.
 */
export async function deliver(
  url: string,
  { id, body }: { id: string; body: string },
  secrets: readonly string[],
  settings: AddressSettings,
  controller = new AbortController(),
): Promise<Outcome> {
  // The rule may be stricter now than when the address was stored.
  const address = receiverUrl(url, settings);
  if (address === undefined) return { response: undefined, error: "connection", retryAfter: 0 };
  // AbortSignal.timeout() would keep the object awake to the end of the time (workerd 1.20261023.1).
  const { signal } = controller;
  const timer = setTimeout(() => controller.abort(), TIMEOUT);
  try {
    const timestamp = Math.floor(Date.now() / 1_000);
    const headers = {
      "content-type": "application/json",
      "user-agent": "PetStore-Webhooks/1",
      "webhook-id": id,
      "webhook-timestamp": String(timestamp),
      "webhook-signature": await sign(secrets, id, timestamp, body),
    };
    const response = await fetch(address, { method: "POST", headers, body, redirect: "manual", signal });
    const { status } = response;
    const isBusy = status === 429 || status === 503;
    const retryAfter = isBusy ? retryAfterOf(response.headers.get("Retry-After"), Date.now()) : 0;
    // Without waiting: the response has ended for us, however long its body is.
    response.body?.cancel().catch(() => {});
    return { response: status, error: undefined, retryAfter };
  } catch {
    // The error may quote the address, which may hold a secret of the receiver. So it is not logged.
    return { response: undefined, error: signal.aborted ? "timeout" : "connection", retryAfter: 0 };
  } finally {
    clearTimeout(timer);
  }
}

/** The id of a message that is no event: `msg_` and 22 characters of base64url, 128 random bits. */
export const messageId = (): string =>
  `msg_${crypto.getRandomValues(new Uint8Array(16)).toBase64({ alphabet: "base64url", omitPadding: true })}`;

/** A message that is no event, as JSON. */
export const messageBody = (id: string, type: string, data: object): string =>
  JSON.stringify({ id, type, timestamp: new Date().toISOString(), data });

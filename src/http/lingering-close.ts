import type { Context, MiddlewareHandler, Next } from "hono";
import { ERROR_STATUS } from "../errors.ts";

/** Milliseconds for which the rest of a body is read before the answer goes out all the same. */
const LINGER_MILLISECONDS = 1_000;

/**
 * Reads what is left of a body that its answer did not need, for a moment. A connection that is closed while its client still sends
 * is reset, and the reset can reach the client before the answer does (RFC 9112, section 9.6).
 */
export const lingeringClose: MiddlewareHandler = (c, next) => {
  const { body } = c.req.raw;
  return body === null ? next() : linger(c, body, next);
};

async function linger(c: Context, body: ReadableStream, next: Next): Promise<void> {
  await next();
  // A body that was too large was read only in part; any other was read to its end, or not at all.
  const readToItsEnd = c.req.raw.bodyUsed && c.res.status !== ERROR_STATUS.payload_too_large;
  if (readToItsEnd) return;
  const rest = body.pipeTo(new WritableStream()).catch(() => {
    // The client hung up: there is nobody left to answer.
  });
  await Promise.race([rest, scheduler.wait(LINGER_MILLISECONDS)]);
}

import type { Context, MiddlewareHandler, Next } from "hono";
import { ERRORS } from "../errors.ts";

/** Milliseconds and bytes for which the rest of a body is read before the response goes out all the same. */
export const LINGER_MILLISECONDS = 1_000;
export const LINGER_BYTES = 256 * 1024;
/** Bytes of one read. Few reads, because each costs CPU; but each open request holds so much memory, and its client may have no key. */
const PIECE_BYTES = 8 * 1024;

/**
 * Reads some of what is left of a body that its response did not need. A connection that is closed while its client still sends
 * is reset, and the reset can reach the client before the response does (RFC 9112, section 9.6).
 */
export const lingeringClose: MiddlewareHandler = (c, next) => {
  const { body } = c.req.raw;
  return body === null ? next() : linger(c, body, next);
};

async function linger(c: Context, body: ReadableStream<Uint8Array>, next: Next): Promise<void> {
  await next();
  // A body that was too large was read only in part; any other was read to its end, or not at all.
  const readToItsEnd = c.req.raw.bodyUsed && c.res.status !== ERRORS.payload_too_large.status;
  if (readToItsEnd) return;
  const rest = discard(body).catch(() => {
    // The client hung up: there is nobody left to answer.
  });
  await Promise.race([rest, scheduler.wait(LINGER_MILLISECONDS)]);
}

async function discard(body: ReadableStream<Uint8Array>): Promise<void> {
  const reader = body.getReader({ mode: "byob" });
  let piece = new Uint8Array(PIECE_BYTES);
  for (let left = LINGER_BYTES; left > 0; left -= PIECE_BYTES) {
    const { done, value } = await reader.readAtLeast(PIECE_BYTES, piece);
    if (done) return;
    // Reading takes the buffer away, and returns it with the bytes.
    piece = new Uint8Array(value.buffer);
  }
}

import type { Context } from "hono";
import { ERRORS } from "../errors.ts";

/** Limits in milliseconds and bytes. When either is reached, the response is sent and the rest of the body is not read. */
export const LINGER_MILLISECONDS = 1_000;
export const LINGER_BYTES = 256 * 1024;
/**
 * Bytes of one read. A larger buffer needs fewer reads, which cost CPU. A smaller one limits the memory that clients without a
 * key can hold.
 */
const PIECE_BYTES = 8 * 1024;

/** The body of a request, if the response did not need it or only a part. */
export function unreadBody({ req: { raw }, res }: Context): ReadableStream<Uint8Array> | null {
  // A body that was too large was read in part. Any other was read to its end, or not at all.
  if (raw.bodyUsed && res.status !== ERRORS.payload_too_large.status) return null;
  // Last: the first access makes an object of the stream.
  return raw.body;
}

/**
 * Reads a part of the rest of a body that the response did not need. Closing a connection while its client still sends resets
 * it, and the reset can reach the client before the response (RFC 9112, section 9.6).
 */
export async function linger(body: ReadableStream<Uint8Array>): Promise<void> {
  const rest = discard(body).catch(() => {
    // The client hung up.
  });
  await Promise.race([rest, scheduler.wait(LINGER_MILLISECONDS)]);
}

async function discard(body: ReadableStream<Uint8Array>): Promise<void> {
  const reader = body.getReader({ mode: "byob" });
  let piece = new Uint8Array(PIECE_BYTES);
  for (let left = LINGER_BYTES; left > 0; left -= PIECE_BYTES) {
    const { done, value } = await reader.readAtLeast(PIECE_BYTES, piece);
    if (done) return;
    // `read` detaches the buffer and returns it with the bytes.
    piece = new Uint8Array(value.buffer);
  }
}

import type { ErrorCode } from "../errors.ts";

/** Milliseconds for which the rest of a body is read before the answer goes out all the same. */
const LINGER_MILLISECONDS = 1_000;

/**
 * Reads what is left of a request's body, for a moment, before a failure is answered. A connection that is closed while its client
 * still sends is reset, and the reset can reach the client before the answer does (RFC 9112, section 9.6).
 *
 * @param code a body that was too large was read only in part; any other was read to its end, or not at all.
 */
export async function linger(request: Request, code: ErrorCode): Promise<void> {
  if (request.body === null || (request.bodyUsed && code !== "payload_too_large")) return;
  const rest = request.body.pipeTo(new WritableStream()).catch(() => {
    // The client hung up: there is nobody left to answer.
  });
  await Promise.race([rest, scheduler.wait(LINGER_MILLISECONDS)]);
}

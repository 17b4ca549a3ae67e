import { crc32 } from "../hash/crc32.ts";
import type { Int64 } from "../exact/int64.ts";

/** Bytes of the id and of the checksum after it. */
const ID_BYTES = 8;
const CURSOR_BYTES = ID_BYTES + 4;

/** The form of a cursor. The document publishes it, so it lists the characters instead of using `\w`. */
export const CURSOR = /^[0-9A-Za-z_-]{16}$/;

/**
 * Where the next page starts: after this id. Opaque to clients: 16 characters of base64url (RFC 4648, section 5), the id and its
 * CRC-32 in network byte order, which detects a truncated or mistyped cursor.
 */
export function encodeCursor(after: Int64): string {
  const bytes = new Uint8Array(CURSOR_BYTES);
  const view = new DataView(bytes.buffer);
  view.setBigInt64(0, BigInt(after));
  view.setUint32(ID_BYTES, crc32(bytes.subarray(0, ID_BYTES)));
  return bytes.toBase64({ alphabet: "base64url" });
}

/** The id in a cursor that `encodeCursor` made, or undefined for any other text. */
export function decodeCursor(cursor: string): Int64 | undefined {
  if (!CURSOR.test(cursor)) return undefined;
  const bytes = Uint8Array.fromBase64(cursor, { alphabet: "base64url" });
  const view = new DataView(bytes.buffer);
  if (view.getUint32(ID_BYTES) !== crc32(bytes.subarray(0, ID_BYTES))) return undefined;
  return view.getBigInt64(0).toString() as Int64;
}

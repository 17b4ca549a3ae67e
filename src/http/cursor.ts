import { type Sort, SORTS } from "../db/page.ts";
import { crc32 } from "../hash/crc32.ts";
import type { Int64 } from "../exact/int64.ts";

/** Bytes of the id and of the checksum after it. */
const ID_BYTES = 8;
const CURSOR_BYTES = ID_BYTES + 4;

/** The form of a cursor. The document publishes it, so it lists the characters instead of using `\w`. */
export const CURSOR = /^[0-9A-Za-z_-]{16}$/;

/** The bytes of the cursor that a call reads or writes. Creating new ones costs more than the rest of the call. */
const bytes = new Uint8Array(CURSOR_BYTES);
const idBytes = bytes.subarray(0, ID_BYTES);
const view = new DataView(bytes.buffer);

/** A place in a list: after this id, in an order. */
export interface Position {
  after: Int64;
  sort: Sort;
}

/**
 * Where the next page starts. Opaque to clients: 16 characters of base64url (RFC 4648, section 5), the id and a checksum in network
 * byte order. The checksum detects a truncated or mistyped cursor, and tells the order that the cursor belongs to.
 */
export function encodeCursor({ after, sort }: Position): string {
  view.setBigInt64(0, BigInt(after));
  view.setUint32(ID_BYTES, checksum(sort));
  return bytes.toBase64({ alphabet: "base64url" });
}

/** The place in a cursor that `encodeCursor` made, or undefined for any other text. */
export function decodeCursor(cursor: string): Position | undefined {
  if (!CURSOR.test(cursor)) return undefined;
  bytes.set(Uint8Array.fromBase64(cursor, { alphabet: "base64url" }));
  const sort = SORTS.find((one) => view.getUint32(ID_BYTES) === checksum(one));
  return sort && { after: view.getBigInt64(0).toString() as Int64, sort };
}

/** The CRC-32 of the id in `bytes`, inverted for the descending order. */
function checksum(sort: Sort): number {
  const crc = crc32(idBytes);
  return sort === "id" ? crc : ~crc >>> 0;
}

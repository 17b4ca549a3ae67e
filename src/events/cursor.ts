import type { Int64 } from "../exact/int64.ts";
import { crc32 } from "../hash/crc32.ts";

/** The form of a cursor of the feed. The document publishes it. */
export const EVENT_CURSOR = /^[0-9a-f]{32}$/;
/** Hexadecimal digits of a place: 16 for the id of an event, and 8 for its tag. */
const PLACE_LENGTH = 24;
const ID_LENGTH = 16;

/** A place in the feed: at the event with this id and this tag. */
export interface Place {
  text: string;
  id: Int64;
}

/** Where the next request goes on. Opaque to clients: the place, and a checksum that detects a truncated or mistyped cursor. */
export function encodeEventCursor(place: string): string {
  return place + checksum(place);
}

/** The place in a cursor that `encodeEventCursor` made, or undefined for any other text. */
export function decodeEventCursor(cursor: string): Place | undefined {
  if (!EVENT_CURSOR.test(cursor)) return undefined;
  const text = cursor.slice(0, PLACE_LENGTH);
  if (cursor.slice(PLACE_LENGTH) !== checksum(text)) return undefined;
  return { text, id: BigInt.asIntN(64, BigInt(`0x${text.slice(0, ID_LENGTH)}`)).toString() as Int64 };
}

const checksum = (place: string) => crc32(new TextEncoder().encode(place)).toString(16).padStart(8, "0");

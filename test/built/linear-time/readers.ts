import { bearerToken } from "../../../src/auth/bearer.ts";
import { isWellFormedKey } from "../../../src/auth/key-format.ts";
import { MERGE_PATCH } from "../../../src/http/body.ts";
import { prefersMarkdown } from "../../../src/http/documentation.ts";
import { BOOKMARK } from "../../../src/http/open-session.ts";
import { boundedPath } from "../../../src/http/path.ts";
import { ignoredFields } from "../../../src/http/ignored-fields.ts";
import { requestedAge } from "../../../src/http/max-age.ts";
import { parseTags } from "../../../src/http/precondition.ts";
import { parseIdempotencyKey } from "../../../src/idempotency/attempt.ts";
import { parseExact, toInt64 } from "../../../src/exact/json.ts";
import { isInt64 } from "../../../src/exact/int64.ts";
import { toTimestamp } from "../../../src/exact/timestamp.ts";
import { decodeCursor } from "../../../src/http/cursor.ts";
import { parseTraceParent } from "../../../src/log/trace-parent.ts";
import { pet } from "../../../src/pets/shape.ts";
import { newPets } from "../../../src/pets/create-pets.ts";
import { listPetsQuery } from "../../../src/pets/list-pets.ts";
import { foldedName, needlesOf } from "../../../src/pets/fold.ts";
import { retryAfterOf } from "../../../src/webhooks/engine/retry-after.ts";

export const READERS = {
  "a path": (text) => boundedPath(new Request(`https://pets.example/${text.replaceAll(/[?#]/g, "")}`)),
  "the Authorization header": bearerToken,
  "an API key": (text) => isWellFormedKey(text, "production"),
  "the Idempotency-Key header": parseIdempotencyKey,
  "the x-d1-bookmark header": (text) => BOOKMARK.test(text),
  "the traceparent header": parseTraceParent,
  "the Accept header": prefersMarkdown,
  "the Content-Type header": (text) => MERGE_PATCH.expression.test(text),
  "the If-Match header": parseTags,
  "the Cache-Control header": requestedAge,
  "an id in the path": isInt64,
  "a cursor": decodeCursor,
  "the query of the list": (text) =>
    listPetsQuery().safeParse({ limit: text, status: text, cursor: text, q: text }).success,
  "a body": (text) => unlessMalformed(() => parseExact(text)),
  // A batch has 100 items at most.
  "the ignored fields of a body": (text) =>
    unlessMalformed(() => ignoredFields(new Set(), [parseExact(text)].flat().slice(0, 100) as object[])),
  // The baseline for a body.
  "JSON.parse": (text) => unlessMalformed((): unknown => JSON.parse(text)),
  "a name": (text) => pet.creation().safeParse({ name: text, categoryId: 1 }).success,
  "the words of a name": foldedName,
  "the words of a search": needlesOf,
  "a batch": (text) => newPets().safeParse(Array.from(text, () => ({}))).success,
  "a number": (text) => unlessMalformed(() => toInt64(parseExact(text))),
  "a time": toTimestamp,
  "the Retry-After header": (text) => retryAfterOf(text, 0),
} as const satisfies { [name: string]: (text: string) => unknown };
export type Reader = keyof typeof READERS;

function unlessMalformed<T>(read: () => T): T | undefined {
  try {
    return read();
  } catch {
    return undefined;
  }
}

/**
 * A text of about `length` characters: repeated units between head and tail. A `#` in a unit is a number that increases by 2^16.
 */
export interface Text {
  head: string;
  unit: string;
  tail: string;
  length: number;
}

function write({ head, unit, tail, length }: Text): string {
  if (!unit.includes("#")) return head + unit.repeat(Math.ceil(length / unit.length)) + tail;
  let text = head;
  for (let number = 0; text.length < length; number += 2 ** 16) text += unit.replace("#", String(number));
  return text + tail;
}

/** Reads each text so many times. */
export interface Task {
  reader: Reader;
  texts: readonly Text[];
  times: number;
}

export default {
  async fetch(request) {
    if (request.method === "POST") {
      const { reader, texts, times } = await request.json<Task>();
      for (const text of texts.map(write)) for (let i = 0; i < times; i++) READERS[reader](text);
    }
    return new Response();
  },
} satisfies ExportedHandler;

import type { Mutant } from "./mutant.ts";

const client = (bug: string, file: string, was: string, becomes: string, test: string): Mutant => ({
  bug,
  file: `client/src/${file}`,
  was,
  becomes,
  project: "built",
  tests: [`test/built/client/${test}.test.ts`],
});

const RETRIES = [
  client("a refused request is repeated", "retry.ts", "/^[25]/", "/^[245]/", "retry"),
  client("a lost response is final", "retry.ts", 'code === "network" || ', "", "retry"),
  client("a pause does not grow", "retry.ts", " * 2 ** (attempt - 1)", "", "retry"),
  client("a pause is not random", "retry.ts", "Math.random() * Math.min", "Math.min", "retry"),
  client("Retry-After is ignored", "retry.ts", "(retryAfter ?? 0) * 1000 + backoff", "backoff", "retry"),
  client("Retry-After is no date", "answer.ts", "(Date.parse(value) - Date.now()) / 1000", "NaN", "retry"),
  client(
    "each attempt has a new key",
    "connection.ts",
    "[...init.headers, [",
    '[...init.headers.map(([name, value]): [string, string] => [name, name === "Idempotency-Key" ? crypto.randomUUID() : value]), [',
    "retry",
  ),
  client("a pause ends after the total time", "connection.ts", " && performance.now() + pause < deadline", "", "retry"),
  client(
    "every deletion of what is not there succeeds",
    "connection.ts",
    "if (lost && call.deletes",
    "if (call.deletes",
    "retry",
  ),
  client(
    "a cancellation of an unknown order succeeds",
    "orders.ts",
    '"cancelOrder", this.#orders.pathOf(id), options, false',
    '"cancelOrder", this.#orders.pathOf(id), options, true',
    "retry",
  ),
  client(
    "a signal keeps the listeners of its requests",
    "attempt.ts",
    '    signal?.removeEventListener("abort", end);\n',
    "",
    "retry",
  ),
  client(
    "an error of the caller's fetch is a failure of the network",
    "attempt.ts",
    "    if (own && !isNetworkFailure(thrown)) throw thrown;\n",
    "",
    "retry",
  ),
  client("a limit may be NaN", "options.ts", "!(value >= 0)", "value < 0", "retry"),
  client("an address may have a password", "options.ts", "[^@/]+", "[^/]+", "retry"),
];

const EXACT = [
  client("a 64-bit integer is rounded", "json.ts", "BigInt(marked[1])", "BigInt(Number(marked[1]))", "exact"),
  client("a field inside a string is an integer", "json.ts", '|"[^"\\\\]*(?:\\\\[^][^"\\\\]*)*"?/g', "/g", "exact"),
  client("a rounded number is accepted", "int64.ts", "isSafeInteger", "isInteger", "exact"),
  client(
    "an integer in a body is rounded",
    "json.ts",
    "isInt64Field(name) ? toDigits(value)",
    "isInt64Field(name) ? Number(value)",
    "exact",
  ),
];

const SECRETS = [
  client(
    "an error repeats a key that the server sent back",
    "answer.ts",
    'words.replaceAll(apiKey, "[API key]")',
    "words",
    "secrets",
  ),
  client(
    "an error has the message of the runtime",
    "attempt.ts",
    "The connection to the service failed${shown}.",
    "The connection to the service failed${shown}: ${String(thrown)}.",
    "secrets",
  ),
  client(
    "an error has a code that is a part of the key",
    "attempt.ts",
    " && !JSON.stringify(init.headers).includes(code)",
    "",
    "secrets",
  ),
  client(
    "a notice repeats a key that the server sent back",
    "connection.ts",
    'headers.get("Link")?.replaceAll(apiKey, "[API key]")',
    'headers.get("Link") ?? undefined',
    "secrets",
  ),
  client(
    "white space around a key is sent",
    "options.ts",
    'typeof apiKey === "string" ? apiKey.trim()',
    'typeof apiKey === "string" ? apiKey',
    "secrets",
  ),
  client("a message has no bound", "answer.ts", ".slice(0, MAX_SHOWN_CHARACTERS)", "", "secrets"),
  client("a redirect takes the key elsewhere", "connection.ts", 'redirect: "manual"', 'redirect: "follow"', "secrets"),
];

const LISTS = [
  client(
    "the pages of a list do not remember",
    "list.ts",
    "memory: scope.memory ?? { bookmark: undefined }",
    "memory: scope.memory",
    "client",
  ),
  client(
    "a page is followed twice",
    "list.ts",
    "![...passed, query.cursor].includes(cursor) && (value.length > 0 || mayBeEmpty)",
    "true",
    "client",
  ),
  client("a search ends at an empty page", "list.ts", "(value.length > 0 || mayBeEmpty)", "value.length > 0", "client"),
  client(
    "a search goes in circles",
    "list.ts",
    "...passed, query.cursor].includes",
    "query.cursor].includes",
    "client",
  ),
  client(
    "an animal may come twice",
    "list.ts",
    "follows(item.id, value[index - 1]?.id ?? last, query)",
    "follows(item.id, value[index - 1]?.id, query)",
    "client",
  ),
  client(
    "a list may have one item more",
    "list.ts",
    "items.push(item) <= max",
    "items.push(item) <= max + 1",
    "client",
  ),
  client("a relation in other quotes is not read", "list.ts", "(?:^|\\s)next(?:$|\\s)/i", "^next$/", "client"),
  client("a session goes back", "connection.ts", ' && bookmark > (memory.bookmark ?? "")', "", "client"),
  client("a deprecation is reported each time", "connection.ts", " || this.#reported.has(operation)", "", "client"),
  client(
    "a response that is too large stays open",
    "attempt.ts",
    "  reader?.cancel().catch(() => {});\n",
    "",
    "client",
  ),
  client("a browser gets another name", "options.ts", '?.startsWith("Mozilla")', '?.startsWith("mozilla")', "client"),
];

const ANSWERS = [
  client("an error of another status is one of the service", "answer.ts", " && body.status === status", "", "hostile"),
  client(
    "a 304 that nobody asked for is a resource",
    "answer.ts",
    'status === 304 && sent?.["If-None-Match"]',
    "status === 304",
    "versions",
  ),
  client(
    "a change ignores the version",
    "requests.ts",
    '{ "Idempotency-Key": idempotencyKey, "If-Match": ifMatch }',
    '{ "Idempotency-Key": idempotencyKey, "If-Match": ifMatch && undefined }',
    "retry",
  ),
  client("an age may be negative", "options.ts", " || maxAge < 0", "", "versions"),
  client(
    "the tag of an item is that of the list",
    "list.ts",
    '`"${item.version}"`',
    '`"${item.version ?? 1}*"`',
    "versions",
  ),
];

const BATCHES = [
  client(
    "a batch has one byte too many",
    "batches.ts",
    "bytes + more > MAX_BYTES",
    "bytes + more > MAX_BYTES + 1",
    "create-many",
  ),
  client(
    "a full batch waits",
    "batches.ts",
    "batch.length === MAX_COUNT",
    "batch.length === MAX_COUNT + 1",
    "create-many",
  ),
  client("every batch has the same key", "batches.ts", "`${idempotencyKey}-${done}`", "idempotencyKey", "create-many"),
  client("animals may be missing", "batches.ts", "value.length === body.length && ", "", "create-many"),
  client("a batch changes an animal twice", "batches.ts", "ids.has(id)", "ids.has(id + id)", "update-many"),
  client(
    "an error does not tell how many changes are made",
    "connection.ts",
    "error.done = call.done;",
    "",
    "update-many",
  ),
];

const EVENTS = [
  client(
    "a session keeps the bookmark of another history",
    "events.ts",
    'thrown.code === "cursor_expired") memory',
    'thrown.code === "cursor_expires") memory',
    "events",
  ),
  client("a consumer waits between two pages", "events.ts", "page.more ? 0 : idle(++waits)", "idle(++waits)", "events"),
  client(
    "a page without events does not move the cursor of the program",
    "events.ts",
    "if (moved) yield page;",
    "if (moved && page.events.length > 0) yield page;",
    "events",
  ),
  client(
    "a copy is made before its place is known",
    "events.ts",
    "        const received = await feed.list({ ...query, cursor });\n        // Not before the cursor is known: the feed has what changes while the copy is made.\n        if (cursor === LATEST) await onReset?.(expired);\n",
    "        if (cursor === LATEST) await onReset?.(expired);\n        const received = await feed.list({ ...query, cursor });\n",
    "events",
  ),
  client("the waits never begin again", "events.ts", "      if (page.events.length > 0) waits = 0;\n", "", "events"),
  client(
    "a page that does not go on comes again",
    "events.ts",
    "(next !== cursor || (events.length === 0 && !more))",
    '(next !== cursor || next !== "")',
    "events",
  ),
  client(
    "a failure that may pass ends the iteration",
    "events.ts",
    'else if (faultOf(thrown) === "final")',
    'else if (faultOf(thrown) !== "refused")',
    "events",
  ),
];

const COMMAND = [
  client(
    "the command sends events to any machine",
    "command/petstore.ts",
    "if (!LOOPBACK.test(receiver.hostname) && ",
    "if (false && ",
    "listen",
  ),
  client(
    "the command signs another time",
    "command/receiver.ts",
    "${id}.${timestamp}.",
    "${id}.${timestamp + 1}.",
    "listen",
  ),
  client(
    "a later event of a resource overtakes one that fails",
    "command/listen.ts",
    "await before;",
    "await undefined;",
    "listen",
  ),
  client("the command tells of no lost place", "command/listen.ts", "isLost = error !== undefined;", "", "listen"),
  client(
    "the command writes events anew",
    "command/page.ts",
    "page.slice(begin, index + 1)",
    "JSON.stringify(JSON.parse(page.slice(begin, index + 1)))",
    "listen",
  ),
];

/** Bugs in `client/src/`. */
export const CLIENT: Mutant[] = [
  ...RETRIES,
  ...EXACT,
  ...SECRETS,
  ...LISTS,
  ...ANSWERS,
  ...BATCHES,
  ...EVENTS,
  ...COMMAND,
];

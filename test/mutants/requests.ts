import { type Mutant, workerd } from "./mutant.ts";

const AUTHENTICATION = [
  workerd(
    "the expiry of a cached key is not checked",
    "auth/key-lookup.ts",
    "return inForce(cached.value);\n  if (refusals.get(key",
    'return cached.value === "corrupt" ? undefined : cached.value;\n  if (refusals.get(key',
    "auth/key-lookup",
  ),
  workerd(
    "a revoked key is accepted",
    "auth/key-lookup.ts",
    '{ expiresAt, revokedAt }: Pick<KeyRecord, "expiresAt" | "revokedAt">): boolean {\n  return revokedAt === undefined && ',
    '{ expiresAt }: Pick<KeyRecord, "expiresAt" | "revokedAt">): boolean {\n  return ',
    "auth/key-lookup",
  ),
  workerd(
    "the checksum of a key is ignored",
    "auth/key-lookup.ts",
    " || !isWellFormedKey(key, environment)",
    "",
    "auth/key-lookup",
  ),
  workerd("the cache keeps a refused key", "auth/key-lookup.ts", "    records.delete(index);\n", "", "auth/key-lookup"),
  workerd(
    "a slow read brings a refused key back",
    "auth/key-lookup.ts",
    "refused !== undefined && refused.readAt > readAt",
    "refused !== undefined && refused.readAt > Infinity",
    "auth/key-lookup",
  ),
  workerd(
    "a record is cached for a minute",
    "auth/key-lookup.ts",
    "RECORD_SECONDS = 30",
    "RECORD_SECONDS = 60",
    "auth/key-lookup",
  ),
  workerd(
    "a failure of KV is a wrong key",
    "auth/key-lookup.ts",
    "    throw serviceUnavailable(cause);",
    "    void serviceUnavailable(cause);\n    return null;",
    "battery/guarded",
  ),
  workerd(
    "a misspelt field lets a key in",
    "auth/key-record.ts",
    "Object.hasOwn(RULES, field) && RULES",
    "!Object.hasOwn(RULES, field) || RULES",
    "auth/key-record",
  ),
  workerd(
    "the checksum does not depend on the first character",
    "auth/key-format.ts",
    "crc32(utf8.encode(text))",
    "crc32(utf8.encode(text).subarray(1))",
    "auth/key-format",
  ),
  workerd(
    "a read ignores the scope",
    "http/guard.ts",
    "!hasScope(key.scopes, needed))",
    'c.req.method !== "GET" && !hasScope(key.scopes, needed))',
    "battery/guarded",
  ),
  workerd(
    "the right to read is the right to write",
    "http/guard.ts",
    "!hasScope(key.scopes, needed))",
    '!key.scopes.some((one) => one.split(":")[0] === needed.split(":")[0]))',
    "battery/guarded",
  ),
  workerd(
    "the inventory needs the scope of the animals",
    "orders/get-inventory.ts",
    'guard("store:read")',
    'guard("pets:read")',
    "orders/inventory",
  ),
  workerd(
    "a limiter that fails lets requests in",
    "auth/rate-limit.ts",
    "    throw serviceUnavailable(cause);",
    "    void serviceUnavailable(cause);\n    return;",
    "battery/guarded",
  ),
  workerd(
    "a key that expires while the body arrives writes",
    "http/body.ts",
    "if (Date.now() !== start)",
    "if (Date.now() < start)",
    "http/body",
  ),
  workerd(
    "a caller without a key learns of paths",
    "http/unmatched.ts",
    "startsWith(`${protectedPath}/`)",
    "startsWith(`${protectedPath}/pets/`)",
    "http/failures",
  ),
];

const ERRORS = [
  workerd(
    "a failure of D1 is 500",
    "db/session.ts",
    ' && cause.message.includes("SQLITE_CONSTRAINT") ? cause',
    " ? cause",
    "http/failures",
  ),
  workerd(
    "a client meets a replica that lacks a migration",
    "db/session.ts",
    "&& lacksSchema(cause)",
    "&& false",
    "battery/bookmark",
  ),
  workerd(
    "a violated constraint is 503",
    "db/session.ts",
    '.includes("SQLITE_CONSTRAINT")',
    '.includes("SQLITE_CONSTRAINTS")',
    "pets/create-pet",
  ),
  workerd(
    "the message of a 500 tells the cause",
    "errors.ts",
    '"Something went wrong inside the service."',
    "String(thrown)",
    "http/failures",
  ),
  workerd(
    "the message of a 503 tells the cause",
    "errors.ts",
    '"The service cannot respond right now. Try again later."',
    "`The service cannot respond right now: ${String(cause)}`",
    "http/failures",
  ),
  workerd(
    "a 429 has no Retry-After",
    "http/error-handler.ts",
    'if ("retryAfter" in rule)',
    'if ("retryAfter" in rule && status !== 429)',
    "battery/guarded",
  ),
  workerd(
    "another path's methods are allowed",
    "http/unmatched.ts",
    "[0][0]?.[0];",
    "[0].at(-1)?.[0];",
    "http/failures",
  ),
  workerd(
    "places that break one rule do not share an entry",
    "http/validation.ts",
    "known.add(place)",
    "new Set([place])",
    "pets/create-pets",
  ),
];

const HEADERS = [
  workerd(
    "no response has a bookmark",
    "http/respond.ts",
    'if (bookmark !== undefined) headers["x-d1-bookmark"]',
    'if (bookmark === "") headers["x-d1-bookmark"]',
    "battery/bookmark",
  ),
  workerd(
    "a failure has the bookmark of an earlier round trip",
    "db/session.ts",
    "      this.usage.bookmark = undefined;\n",
    "",
    "events/cursor-expired",
  ),
  workerd(
    "a read ignores the bookmark of its request",
    "http/open-session.ts",
    '"first-primary" : bookmark',
    '"first-primary" : bookmark && undefined',
    "battery/bookmark",
  ),
  workerd(
    "a write goes to a replica",
    "db/session.ts",
    'return this.#run("first-primary", statements);',
    "return this.#run(this.#start, statements);",
    "battery/bookmark",
  ),
  workerd("pages of other origins cannot read Retry-After", "http/cors.ts", "Retry-After,", "", "http/headers"),
  workerd(
    "caches share the responses of a key",
    "http/authentication.ts",
    '"private, no-store"',
    '"no-cache"',
    "http/headers",
  ),
];

const PAGES = [
  workerd(
    "HTML is preferred to Markdown of the same weight",
    "http/documentation.ts",
    "markdown >= (weights",
    "markdown > (weights",
    "http/documentation",
  ),
  workerd(
    "Markdown without a weight is preferred",
    "http/documentation.ts",
    "markdown > 0 && ",
    'accept.includes("text/markdown") && ',
    "http/documentation",
  ),
  workerd(
    "a range for everything outweighs the one for HTML",
    "http/documentation.ts",
    'weights.get("text/html") ?? weights.get("text/*") ?? weights.get("*/*")',
    'weights.get("*/*") ?? weights.get("text/*") ?? weights.get("text/html")',
    "http/documentation",
  ),
  workerd(
    "the texts name another deployment",
    "http/documentation.ts",
    ".replaceAll(PLACEHOLDER, origin)",
    "",
    "http/documentation",
  ),
  workerd(
    "a page without Markdown is missing for agents",
    "http/documentation.ts",
    "markdown !== undefined && markdown.status !== 404 ? markdown",
    "markdown !== undefined ? markdown",
    "http/documentation",
  ),
  workerd(
    "the redirect of / has no links",
    "app.ts",
    "    addLink(c, PAGE_LINKS);\n",
    "    void addLink;\n    void PAGE_LINKS;\n",
    "http/documentation",
  ),
  {
    ...workerd("caches confuse HTML and Markdown", "", 'Vary: "Accept", ', "", "http/documentation"),
    file: "openapi/discovery.ts",
  },
];

const LOG = [
  workerd(
    "the log has the key",
    "http/authentication.ts",
    "log.keyId = key.id",
    "log.keyId = presented",
    "auth/secrets",
  ),
  workerd("the log has the raw path", "log/log.ts", "route: routePath(c)", "route: c.req.path", "http/headers"),
  workerd(
    "a client chooses the id of its request",
    "log/log.ts",
    "crypto.randomUUID()",
    'c.req.header("X-Request-Id") ?? crypto.randomUUID()',
    "http/headers",
  ),
  workerd(
    "refusals are sampled",
    "log/share.ts",
    "if (status >= 400) return 1;",
    "if (status >= 500) return 1;",
    "log/success-share",
  ),
  workerd("a sampled line counts as one", "log/share.ts", "? 1 / share", "? 1", "log/success-share"),
];

const INPUT = [
  workerd(
    "the query of a deletion is not checked",
    "http/guard.ts",
    "    readQuery(c);\n",
    '    if (c.req.method !== "DELETE") readQuery(c);\n',
    "battery/query",
  ),
  workerd(
    "an undeclared name is refused before the scope",
    "http/guard.ts",
    "    const needed = token",
    "    readQuery(c);\n    const needed = token",
    "battery/query",
  ),
  workerd("a parameter without a name is dropped", "http/query.ts", "/^\\?=|&=/", "/^$/", "battery/query"),
  workerd(
    "a handler can change a remembered query",
    "http/known-queries.ts",
    "output: Object.freeze(output)",
    "output",
    "http/known-queries",
  ),
  workerd(
    "a flood of queries pushes out the used ones",
    "http/known-queries.ts",
    "    this.#queries.delete(text);\n    this.#queries.set(text, known);\n",
    "",
    "http/known-queries",
  ),
  workerd("a message repeats an API key", "http/query.ts", "{1,40}", "{1,400}", "battery/query"),
  workerd(
    "a Content-Length that lies is believed",
    "http/body.ts",
    "bytes === undefined || bytes.byteLength > MAX_BODY_BYTES",
    "bytes === undefined",
    "pets/create-pet",
  ),
];

/** Bugs of the service in every request. */
export const REQUESTS: Mutant[] = [...AUTHENTICATION, ...ERRORS, ...HEADERS, ...PAGES, ...LOG, ...INPUT];

// The floor: a Worker without any library that does the work of the service for the measured requests and returns the same
// responses, except for the form of the cursor. One file, with routing by `if` and few types.

const HEADERS = {
  "Cache-Control": "private, no-store",
  "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'",
  "Content-Type": "application/json",
  "Strict-Transport-Security": "max-age=15552000; includeSubDomains",
  "X-Content-Type-Options": "nosniff",
};
const CORS_HEADERS = {
  "Access-Control-Allow-Origin": "*",
  "Access-Control-Expose-Headers":
    "Allow,Deprecation,ETag,Idempotency-Replayed,Link,Location,Retry-After,Sunset,WWW-Authenticate,X-Request-Id,x-d1-bookmark",
};
const DEPRECATION = {
  Deprecation: "@1764892800",
  Sunset: "Thu, 05 Dec 2030 00:00:00 GMT",
  Link: '</v1/pets>; rel="successor-version", </docs/versioning#deprecation>; rel="deprecation"',
};
const TRACE_PARENT = /^[0-9a-f]{2}-([0-9a-f]{32})-([0-9a-f]{16})-[0-9a-f]{2}(?:-|$)/;
const STATUSES = ["available", "pending", "sold"];
const COLUMNS = `CAST("id" AS TEXT) AS "id", "name", CAST("category_id" AS TEXT) AS "categoryId", "status"`;
const LIST = `SELECT ${COLUMNS} FROM "pets" WHERE "pets"."id" > ? ORDER BY "pets"."id" LIMIT ?`;
const LIST_STATUS = `SELECT ${COLUMNS} FROM "pets" WHERE "status" = ? AND "pets"."id" > ? ORDER BY "pets"."id" LIMIT ?`;
const GET = `SELECT ${COLUMNS}, "version" FROM "pets" WHERE "pets"."id" = ?`;
const INSERT = `INSERT INTO "pets" ("name", "category_id", "status") VALUES (?, ?, ?) RETURNING CAST("id" AS TEXT) AS "id"`;
const RECORD = `INSERT INTO "events" ("tag", "type", "version", "data", "created_at")
  SELECT random() & 4294967295, 'pet.created', "version",
    json_object('id', "id", 'name', "name", 'categoryId', "category_id", 'status', "status"), strftime('%Y-%m-%dT%H:%M:%fZ', 'now')
  FROM "pets" WHERE "id" = last_insert_rowid()`;
const rawJSON = (text: string) => (JSON as unknown as { rawJSON(text: string): unknown }).rawJSON(text);
const known = new Map<string, { at: number; record: { id: string; scopes: string[] } }>();

class Failure {
  readonly body: { code: string; message: string; status: number };
  readonly headers: Record<string, string>;
  constructor(status: number, code: string, message: string, headers: Record<string, string> = {}) {
    this.body = { code, message, status };
    this.headers = headers;
  }
}

export default {
  async fetch(request: Request, env: Env): Promise<Response> {
    const start = Date.now();
    const requestId = crypto.randomUUID();
    const { origin, pathname, searchParams } = new URL(request.url);
    const headers: Record<string, string> = { ...HEADERS, "X-Request-Id": requestId };
    if (request.headers.has("Origin")) Object.assign(headers, CORS_HEADERS);
    const log: Record<string, unknown> = { level: "info", requestId, method: request.method, route: pathname };
    let status = 200;
    let body: unknown;
    try {
      if (pathname.startsWith("/v1/pets/")) {
        Object.assign(headers, DEPRECATION);
        log["deprecated"] = true;
      }
      const { id, scopes } = await authenticate(request, env);
      log["keyId"] = id;
      if (!scopes.includes(request.method === "POST" ? "pets:write" : "pets:read"))
        throw new Failure(403, "insufficient_scope", "");
      if (!(await env.RATE_LIMITER.limit({ key: id })).success)
        throw new Failure(429, "rate_limited", "", { "Retry-After": "60" });
      const bookmark = request.headers.get("x-d1-bookmark");
      if (bookmark !== null && !/^[0-9a-f-]{59}$/.test(bookmark)) throw new Failure(400, "invalid_request", "");
      const finish = (session: D1DatabaseSession, metas: D1Meta[]) => {
        headers["x-d1-bookmark"] = session.getBookmark() ?? "";
        const sum = (part: (meta: D1Meta) => number) => metas.reduce((total, meta) => total + part(meta), 0);
        log["d1Duration"] = sum(({ duration }) => duration);
        log["d1RowsRead"] = sum(({ rows_read }) => rows_read);
        log["d1RowsWritten"] = sum(({ rows_written }) => rows_written);
        log["d1Region"] = metas[0]?.served_by_region;
        log["d1Primary"] = metas[0]?.served_by_primary;
      };
      const read = async (sql: string, ...values: unknown[]) => {
        const session = env.DB.withSession(bookmark ?? "first-unconstrained");
        const statement = session.prepare(sql).bind(...values);
        const { results, meta } = await statement.all<Record<string, string>>();
        finish(session, [meta]);
        return results;
      };
      const create = async (...values: unknown[]) => {
        const session = env.DB.withSession("first-primary");
        const statements = [session.prepare(INSERT).bind(...values), session.prepare(RECORD)];
        const results = await session.batch<Record<string, string>>(statements);
        finish(
          session,
          results.map(({ meta }) => meta),
        );
        return results[0]?.results[0];
      };
      if (pathname === "/v1/pets" && request.method === "GET") {
        const digits = searchParams.get("limit") ?? "20";
        const filter = searchParams.get("status");
        const limit = /^\d+$/.test(digits) ? Number(digits) : 0;
        if (limit < 1 || limit > 100)
          throw new Failure(400, "invalid_request", "limit has to be an integer from 1 to 100, in decimal digits.");
        if (filter !== null && !STATUSES.includes(filter)) throw new Failure(400, "invalid_request", "status");
        const page =
          filter === null ? await read(LIST, "0", limit + 1) : await read(LIST_STATUS, filter, "0", limit + 1);
        if (page.length > limit) {
          page.length = limit;
          const given =
            (searchParams.has("limit") ? `limit=${limit}&` : "") + (filter === null ? "" : `status=${filter}&`);
          const cursor = String(page[limit - 1]?.["id"]).padStart(16, "A");
          headers["Link"] = `<${origin}/v1/pets?${given}cursor=${cursor}>; rel="next"`;
        }
        body = page.map(animal);
      } else if (pathname === "/v1/pets" && request.method === "POST") {
        if (!/^application\/json[\t ]*(?:;|$)/i.test(request.headers.get("Content-Type") ?? ""))
          throw new Failure(415, "unsupported_media_type", "");
        const bytes = await new Promise<ArrayBuffer>((resolve, reject) => {
          const timer = setTimeout(() => reject(new Failure(408, "request_timeout", "")), 10_000);
          request.arrayBuffer().then((received) => (clearTimeout(timer), resolve(received)), reject);
        });
        if (bytes.byteLength > 65_536) throw new Failure(413, "payload_too_large", "");
        const pet = parse(new TextDecoder("utf-8", { fatal: true, ignoreBOM: false }).decode(bytes));
        const { name, categoryId, status: petStatus = "available" } = pet;
        const faults = [];
        if (
          typeof name !== "string" ||
          name.length < 1 ||
          name.length > 255 ||
          !/\S/.test(name) ||
          !name.isWellFormed()
        )
          faults.push("name");
        if (!Number.isSafeInteger(categoryId)) faults.push("categoryId");
        if (!STATUSES.includes(petStatus as string)) faults.push("status");
        if (faults.length > 0) throw new Failure(400, "invalid_request", `${faults.join("; ")} has to be right.`);
        const row = await create(name, String(categoryId), petStatus);
        headers["Location"] = `/v1/pets/${row?.["id"]}`;
        headers["ETag"] = '"1"';
        status = 201;
        body = animal({ id: row?.["id"], name, categoryId: String(categoryId), status: petStatus } as Record<
          string,
          string
        >);
      } else if (request.method === "GET") {
        const petId = pathname.slice("/v1/pets/".length);
        const [row] = /^(?:0|-?[1-9]\d{0,18})$/.test(petId) ? await read(GET, petId) : [];
        if (row === undefined) throw new Failure(404, "not_found", "There is no animal with this id.");
        headers["ETag"] = `"${row["version"]}"`;
        body = animal(row);
      }
    } catch (error) {
      const failure = error instanceof Failure ? error : new Failure(500, "internal_error", "");
      Object.assign(headers, failure.headers);
      body = failure.body;
      ({ status, code: log["errorCode"] } = failure.body);
    }
    const share = status < 400 ? Number(env.LOG_SUCCESS_SHARE) : 1;
    if (share === 1 || Math.random() < share) {
      const { cf } = request as Request & { cf?: Record<string, unknown> };
      const place = { colo: cf?.["colo"], country: cf?.["country"], deployment: env.VERSION.id };
      const [, traceId, parentSpanId] = TRACE_PARENT.exec(request.headers.get("traceparent") ?? "") ?? [];
      const trace = { traceId, parentSpanId };
      console.log(
        JSON.stringify({ ...log, status, duration: Date.now() - start, weight: 1 / share, ...place, ...trace }),
      );
    }
    return new Response(JSON.stringify(body), { status, headers });
  },
};

async function authenticate(request: Request, env: Env) {
  const key = /^bearer +(.+)$/i.exec(request.headers.get("Authorization") ?? "")?.[1];
  if (key === undefined) throw new Failure(401, "unauthorized", "", { "WWW-Authenticate": 'Bearer realm="petstore"' });
  if (!isWellFormed(key)) throw badKey();
  const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", new TextEncoder().encode(key)));
  const name = `key:${digest.toHex()}`;
  const recent = known.get(name);
  if (recent !== undefined && Date.now() - recent.at < 30_000) return recent.record;
  const value = await env.API_KEYS.get(name, { type: "text", cacheTtl: 30 });
  if (value === null) throw badKey();
  const record = JSON.parse(value);
  if (known.size > 1_000) known.clear();
  known.set(name, { at: Date.now(), record });
  return record;
}

const ALPHABET = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
const CRC = Uint32Array.from({ length: 256 }, (_, index) => {
  let crc = index;
  for (let bit = 0; bit < 8; bit++) crc = crc & 1 ? (crc >>> 1) ^ 0xedb88320 : crc >>> 1;
  return crc;
});

function isWellFormed(key: string): boolean {
  if (!/^petstore_production_[0-9A-Za-z]{36}$/.test(key)) return false;
  let crc = 0xffffffff;
  for (let i = 0; i < key.length - 6; i++) crc = (CRC[(crc ^ key.charCodeAt(i)) & 0xff] ?? 0) ^ (crc >>> 8);
  crc = (crc ^ 0xffffffff) >>> 0;
  let checksum = "";
  for (let i = 0; i < 6; i++, crc = Math.floor(crc / 62)) checksum = ALPHABET[crc % 62] + checksum;
  return key.endsWith(checksum);
}

function badKey(): Failure {
  return new Failure(401, "unauthorized", "The API key is not valid.", {
    "WWW-Authenticate": 'Bearer realm="petstore", error="invalid_token", error_description="The API key is not valid"',
  });
}

function parse(text: string): Record<string, unknown> {
  try {
    const value = JSON.parse(text);
    if (typeof value === "object" && value !== null) return value;
  } catch {
    // Answered below.
  }
  throw new Failure(400, "invalid_request", "The request body is not well-formed JSON in UTF-8.");
}

function animal({ id = "", name, categoryId = "", status }: Record<string, string>) {
  return { id: integer(id), name, categoryId: integer(categoryId), status };
}

function integer(text: string) {
  return text.length < 16 ? Number(text) : rawJSON(text);
}

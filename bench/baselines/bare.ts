// The lower limit: the lookups and the SQL of the service, written by hand, without a log, a rate limiter or headers other than
// the content type, and with one message per failure. It handles only the measured requests.
const COLUMNS = `CAST("id" AS TEXT) AS "id", "name", CAST("category_id" AS TEXT) AS "categoryId", "status"`;
const LIST = `SELECT ${COLUMNS} FROM "pets" WHERE "pets"."id" > ? ORDER BY "pets"."id" LIMIT ?`;
const LIST_STATUS = LIST.replace("WHERE", 'WHERE "status" = ? AND');
const GET = `SELECT ${COLUMNS} FROM "pets" WHERE "pets"."id" = ?`;
const INSERT = `INSERT INTO "pets" ("name", "category_id", "status") VALUES (?, ?, ?) RETURNING CAST("id" AS TEXT) AS "id"`;
const RECORD = `INSERT INTO "events" ("tag", "type", "version", "data", "created_at")
  SELECT random() & 4294967295, 'pet.created', "version",
    json_object('id', "id", 'name', "name", 'categoryId', "category_id", 'status', "status"), strftime('%Y-%m-%dT%H:%M:%fZ', 'now')
  FROM "pets" WHERE "id" = last_insert_rowid()`;
const STATUSES = ["available", "pending", "sold"];
const JSON_TYPE = { "Content-Type": "application/json" };
const known = new Map<string, { readAt: number; scopes: string[] }>();

export default {
  async fetch(request: Request, env: Env): Promise<Response> {
    const scopes = await scopesOf(request.headers.get("Authorization") ?? "", env);
    if (scopes === undefined) return refuse(401, "unauthorized");
    if (!scopes.includes(request.method === "POST" ? "pets:write" : "pets:read"))
      return refuse(403, "insufficient_scope");
    if (request.method === "POST") {
      const { name, categoryId, status = "available" } = await request.json<Record<string, unknown>>();
      if (typeof name !== "string" || !/\S/.test(name) || name.length > 255) return refuse(400, "invalid_request");
      if (!Number.isSafeInteger(categoryId) || !STATUSES.includes(status as string))
        return refuse(400, "invalid_request");
      const row = { name, categoryId: String(categoryId), status: status as string };
      const session = env.DB.withSession("first-primary");
      const statements = [session.prepare(INSERT).bind(...Object.values(row)), session.prepare(RECORD)];
      const [inserted] = await session.batch<Record<string, string>>(statements);
      return json(animal({ ...row, id: inserted?.results[0]?.["id"] ?? "" }), 201);
    }
    const path = request.url.slice(request.url.indexOf("/", "https://".length));
    if (path.startsWith("/v1/pets/")) {
      const [row] = await run(env, GET, path.slice("/v1/pets/".length));
      return row ? json(animal(row)) : refuse(404, "not_found");
    }
    const limit = Number(/[?&]limit=([^&]*)/.exec(path)?.[1] ?? 20);
    if (!(limit >= 1 && limit <= 100)) return refuse(400, "invalid_request");
    const status = /[?&]status=([^&]*)/.exec(path)?.[1];
    if (status !== undefined && !STATUSES.includes(status)) return refuse(400, "invalid_request");
    const rows =
      status === undefined ? await run(env, LIST, "0", limit + 1) : await run(env, LIST_STATUS, status, "0", limit + 1);
    return json(rows.slice(0, limit).map(animal));
  },
};

async function scopesOf(authorization: string, env: Env): Promise<string[] | undefined> {
  const key = new TextEncoder().encode(authorization.slice("Bearer ".length));
  const name = `key:${new Uint8Array(await crypto.subtle.digest("SHA-256", key)).toHex()}`;
  const recent = known.get(name);
  if (recent !== undefined && Date.now() - recent.readAt < 30_000) return recent.scopes;
  const value = await env.API_KEYS.get(name, { type: "text", cacheTtl: 30 });
  if (value === null) return undefined;
  const { scopes } = JSON.parse(value);
  if (known.size > 1_000) known.clear();
  known.set(name, { readAt: Date.now(), scopes });
  return scopes;
}

async function run(env: Env, sql: string, ...values: unknown[]) {
  const statement = env.DB.withSession("first-unconstrained").prepare(sql);
  return (await statement.bind(...values).all<Record<string, string>>()).results;
}

function animal({ id = "", name, categoryId = "", status }: Record<string, string>) {
  return { id: integer(id), name, categoryId: integer(categoryId), status };
}

function integer(text: string) {
  return text.length < 16 ? Number(text) : (JSON as unknown as { rawJSON(text: string): unknown }).rawJSON(text);
}

function refuse(status: number, code: string): Response {
  return json({ code, message: "Refused.", status }, status);
}

function json(body: unknown, status = 200): Response {
  return new Response(JSON.stringify(body), { status, headers: JSON_TYPE });
}

// A call of a tool: one request to the service, and its response as a result.
import type { Context } from "hono";
import type { AppEnv } from "../env.ts";
import type { ErrorBody } from "../errors.ts";
import { extended } from "./json-rpc.ts";
import type { Tool } from "./tools.ts";

/** The request needs a host, which no operation reads. */
const SERVICE = "https://petstore.invalid";
/** An int64 in JSON of the service, as openapi/tools.ts checks. A name is followed by a colon, and in a text its quotation marks are escaped. */
const INT64_FIELD = /"(id|\w+Id)":(-?\d+)/g;
const NEXT_CURSOR = /[?&]cursor=([\w-]+)>; rel="next"/;

/** A value in an address. */
const written = (value: unknown) => encodeURIComponent(typeof value === "string" ? value : JSON.stringify(value));

/** The request of a call, with the arguments that `readArguments` has read. */
export function requestOf(c: Context<AppEnv>, tool: Tool, values: Record<string, unknown>): Request {
  // No read from the memory of the isolate, whatever the operator allows.
  const headers: Record<string, string> = { "Cache-Control": "no-cache" };
  for (const name of ["Authorization", "traceparent"]) {
    const value = c.req.header(name);
    if (value !== undefined) headers[name] = value;
  }
  const take = (name: string) => {
    const value = values[name];
    delete values[name];
    return value;
  };
  const key = take("idempotencyKey");
  if (typeof key === "string") headers["Idempotency-Key"] = key;
  const path = tool.path.replace(/\{(\w+)\}/g, (_, name: string) => written(take(name)));
  const query = tool.query.flatMap((name) => [take(name) ?? []].flat().map((value) => `${name}=${written(value)}`));
  if (tool.body !== undefined) headers["Content-Type"] = "application/json";
  const body = tool.body === "array" ? values["items"] : values;
  return new Request(`${SERVICE}${path}${query.length === 0 ? "" : `?${query.join("&")}`}`, {
    method: tool.method,
    headers,
    ...(tool.body && { body: JSON.stringify(body) }),
    ...(c.req.raw.cf && { cf: c.req.raw.cf }),
  });
}

/** The result of a call as JSON, from the response to its request. */
export async function resultOf(response: Response, isStructured: boolean): Promise<string> {
  const body = await response.text();
  if (!response.ok) return failure(JSON.parse(body) as ErrorBody, response.headers.get("Retry-After"));
  const withTexts = body.replace(INT64_FIELD, '"$1":"$2"');
  const found = withTexts === "" ? '{"done":true}' : withTexts.startsWith("[") ? `{"items":${withTexts}}` : withTexts;
  const nextCursor = NEXT_CURSOR.exec(response.headers.get("Link") ?? "")?.[1];
  const replayed = response.headers.has("Idempotency-Replayed") || undefined;
  const content = extended(found, { nextCursor, replayed });
  const result = withContent(content);
  return isStructured ? `${result.slice(0, -1)},"structuredContent":${content}}` : result;
}

/** The result of a call that failed, as JSON. */
export function failure(error: ErrorBody, retryAfter?: string | null): string {
  // Words of HTTP, and what agents know instead.
  const message = error.message
    .replaceAll(/(?:the header )?Idempotency-Key/g, "idempotencyKey")
    .replace("in a Link header", "as nextCursor");
  const wait = retryAfter == null ? {} : { retryAfter: Number(retryAfter) };
  return withContent(JSON.stringify({ ...error, message, ...wait }), { isError: true });
}

const withContent = (text: string, members?: object) =>
  JSON.stringify({ content: [{ type: "text", text }], ...members });

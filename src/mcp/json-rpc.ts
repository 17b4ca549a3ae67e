// The messages of JSON-RPC 2.0, as the Model Context Protocol uses them: one request or notification in a body, and no batches.
import type { Context } from "hono";
import type { ContentfulStatusCode } from "hono/utils/http-status";
import type { AppEnv } from "../env.ts";
import { toInteger } from "../exact/json.ts";
import { jsonText } from "../http/respond.ts";

/** An object of `parseExact`. */
export interface JsonObject {
  readonly [name: string]: unknown;
}

export interface Message {
  /** As JSON, so that it returns as it came. Undefined for a notification. */
  readonly id: string | undefined;
  readonly method: string;
  readonly params: JsonObject;
}

/** A failure in the form of JSON-RPC. */
export class RpcError extends Error {
  readonly code: number;
  readonly status: ContentfulStatusCode;
  readonly data: object | undefined;

  /** @param code of JSON-RPC 2.0, section 5.1, or of revision 2026-07-28: -32020 for a header, and -32022 for a version. */
  constructor(code: number, message: string, status: ContentfulStatusCode = 400, data?: object) {
    super(message);
    this.code = code;
    this.status = status;
    this.data = data;
  }
}

export function isObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** The id of a message as JSON: a string, or an integer of 64 bits. Undefined for anything else. */
export function idOf(body: unknown): string | undefined {
  const id = isObject(body) ? body["id"] : undefined;
  return typeof id === "string" ? JSON.stringify(id) : toInteger(id);
}

/**
 * The request or the notification in a body.
 *
 * @throws RpcError for a batch, a response, another version of JSON-RPC, and members of a wrong type.
 */
export function messageOf(body: unknown): Message {
  const { jsonrpc, method, params: given, ...rest } = isObject(body) ? body : {};
  const id = idOf(body);
  // Null is taken for what is left out.
  const params = given ?? {};
  const isWhole = jsonrpc === "2.0" && typeof method === "string" && isObject(params);
  if (!isWhole || (id === undefined && "id" in rest)) {
    throw new RpcError(
      -32_600,
      'Send one message: jsonrpc "2.0", method, an object as params, a string or an integer as id.',
    );
  }
  return { id, method, params };
}

/** JSON of an object, with more members. */
export function extended(json: string, members: object): string {
  const more = JSON.stringify(members);
  return more === "{}" ? json : `${json.slice(0, -1)},${more.slice(1)}`;
}

/** @param member a `result` or an `error`, as JSON. */
export const respond = (
  c: Context<AppEnv>,
  id: string,
  member: string,
  json: string,
  status: ContentfulStatusCode = 200,
) => jsonText(c, `{"jsonrpc":"2.0","id":${id},"${member}":${json}}`, status);

export function respondWithRpcError(c: Context<AppEnv>, id: string, { code, message, data, status }: RpcError) {
  c.get("log").errorCode = String(code);
  return respond(c, id, "error", JSON.stringify({ code, message, data }), status);
}

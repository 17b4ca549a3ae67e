// The messages of JSON-RPC 2.0, as the Model Context Protocol uses them: one request or notification in a body, and no batches.
import type { Context } from "hono";
import type { ContentfulStatusCode } from "hono/utils/http-status";
import type { AppEnv } from "../env.ts";
import { type Json, toInt64 } from "../exact/json.ts";
import { jsonText } from "../http/respond.ts";

/** An object of `parseExact`. A name may be that of a property of every object, so read it with `own`. */
export interface JsonObject {
  readonly [name: string]: unknown;
}

export interface Message {
  /** As JSON, so that it returns as it came. Undefined for a notification. */
  readonly id: string | undefined;
  readonly method: string;
  readonly params: JsonObject;
}

/** The codes of failures: those of JSON-RPC, and two of revision 2026-07-28. */
export const CODES = {
  parse: -32_700,
  request: -32_600,
  method: -32_601,
  params: -32_602,
  header: -32_020,
  version: -32_022,
} as const;

/** A failure in the form of JSON-RPC. */
export class RpcError extends Error {
  override readonly name = "RpcError";
  readonly code: number;
  readonly status: ContentfulStatusCode;
  readonly data: object | undefined;

  constructor(kind: keyof typeof CODES, message: string, status: ContentfulStatusCode = 400, data?: object) {
    super(message);
    this.code = CODES[kind];
    this.status = status;
    this.data = data;
  }
}

export function isObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** A member that an object itself has. */
export const own = (object: JsonObject, name: string): unknown =>
  Object.hasOwn(object, name) ? object[name] : undefined;

/** The id of a message as JSON: a string, or an integer of 64 bits. Undefined for anything else. */
export function idOf(body: unknown): string | undefined {
  const id = isObject(body) ? own(body, "id") : undefined;
  return typeof id === "string" ? JSON.stringify(id) : toInt64(id);
}

/**
 * The request or the notification in a body.
 *
 * @throws RpcError for a batch, a response, another version of JSON-RPC, and members of a wrong type.
 */
export function messageOf(body: unknown): Message {
  if (!isObject(body)) throw new RpcError("request", "Send one JSON-RPC message, not a batch.");
  const method = own(body, "method");
  const params = own(body, "params") ?? {};
  const id = idOf(body);
  if (own(body, "jsonrpc") !== "2.0") throw new RpcError("request", 'jsonrpc has to be "2.0".');
  if (typeof method !== "string") throw new RpcError("request", "method has to be a string.");
  if (!isObject(params) || own(body, "params") === null) throw new RpcError("request", "params has to be an object.");
  if (id === undefined && Object.hasOwn(body, "id"))
    throw new RpcError("request", "id has to be a string or an integer.");
  return { id, method, params };
}

/** @param result as JSON. */
export const respondWithResult = (c: Context<AppEnv>, id: string, result: string) =>
  jsonText(c, `{"jsonrpc":"2.0","id":${id},"result":${result}}` as Json<unknown>, 200);

export function respondWithRpcError(c: Context<AppEnv>, id: string, { code, message, data, status }: RpcError) {
  c.get("log").errorCode = String(code);
  const error = JSON.stringify({ code, message, data });
  return jsonText(c, `{"jsonrpc":"2.0","id":${id},"error":${error}}` as Json<unknown>, status);
}

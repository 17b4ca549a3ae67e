import type { Context } from "hono";
import type { AppEnv } from "../env.ts";
import { isObject, type Message, RpcError } from "./json-rpc.ts";

/** The revision without a handshake: every request says what it needs. */
export const MODERN = "2026-07-28";
/** The revisions that begin with `initialize`, the newest first. */
export const OLDER: readonly string[] = ["2025-11-25", "2025-06-18", "2025-03-26"];
export const REVISIONS: readonly string[] = [MODERN, ...OLDER];
/** That of a request without the header (revision 2025-11-25, Transports). Its results have no `structuredContent`, its tools no title. */
export const OLDEST = "2025-03-26";

const META = "io.modelcontextprotocol/";
const utf8 = new TextEncoder();

/**
 * The revision of a request.
 *
 * @throws RpcError when the service does not know it, and when header and body of a modern request differ.
 */
export function revisionOf(c: Context<AppEnv>, { method, params }: Message): string {
  const header = c.req.header("MCP-Protocol-Version");
  const member = params["_meta"];
  const meta = isObject(member) ? member : {};
  const named = meta[`${META}protocolVersion`];
  if (named === undefined && header !== MODERN) {
    if (header !== undefined && !OLDER.includes(header)) throw unsupported(header);
    return header ?? OLDEST;
  }
  if (typeof named !== "string") throw new RpcError(-32_602, `_meta needs ${META}protocolVersion.`);
  if (header !== named) throw mismatch("MCP-Protocol-Version");
  if (named !== MODERN) throw unsupported(named);
  if (!isObject(meta[`${META}clientCapabilities`]))
    throw new RpcError(-32_602, `_meta needs ${META}clientCapabilities.`);
  if (c.req.header("Mcp-Method") !== method) throw mismatch("Mcp-Method");
  const name = method === "tools/call" ? params["name"] : undefined;
  if (typeof name === "string" && !has(c.req.header("Mcp-Name"), name)) throw mismatch("Mcp-Name");
  return MODERN;
}

const unsupported = (requested: string) =>
  new RpcError(-32_022, "This version is not supported.", 400, {
    supported: REVISIONS,
    requested,
  });

const mismatch = (header: string) => new RpcError(-32_020, `The header ${header} has to say the same as the body.`);

/** Whether a header has a text, as it is or in Base64, which a header needs for other characters (revision 2026-07-28, Transports). */
const has = (header: string | undefined, text: string) =>
  header === text || header === `=?base64?${utf8.encode(text).toBase64()}?=`;

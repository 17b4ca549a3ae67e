import { expect } from "vitest";
import type { ErrorCode } from "../../src/errors.ts";
import { type Call, call } from "./client.ts";
import { key } from "./keys.ts";

export const MODERN = "2026-07-28";
export const OLDER = ["2025-11-25", "2025-06-18", "2025-03-26"];
export const REVISIONS = [MODERN, ...OLDER];

const META = "io.modelcontextprotocol/";
export const ENVELOPE = { [`${META}protocolVersion`]: MODERN, [`${META}clientCapabilities`]: {} };
const SERVER_INFO = `${META}serverInfo`;

export interface Message {
  method?: unknown;
  params?: unknown;
  id?: unknown;
}

/** The request with a message, as a client of the revision sends it. */
export function messageCall({ id = 1, method, params = {} }: Message, revision = "2025-11-25"): Call {
  const isModern = revision === MODERN;
  const { name } = params as { name?: unknown };
  return {
    method: "POST",
    key,
    headers: {
      "MCP-Protocol-Version": revision,
      ...(isModern && {
        "Mcp-Method": String(method),
        ...(typeof name === "string" && { "Mcp-Name": name }),
      }),
    },
    body: {
      jsonrpc: "2.0",
      id,
      method,
      params: { ...(params as object), ...(isModern && { _meta: ENVELOPE }) },
    },
  };
}

export interface Answer {
  response: Response;
  text: string;
  /** Undefined for an answer without a body. */
  body: { jsonrpc: string; id: unknown; result?: Result; error?: { code: number; message: string; data?: unknown } };
}

export interface Result {
  [member: string]: unknown;
  content: { type: string; text: string }[];
  structuredContent?: { [field: string]: unknown; items?: Record<string, unknown>[]; nextCursor?: string };
  isError?: boolean;
  tools: { [member: string]: unknown; name: string; inputSchema: { properties: Record<string, unknown> } }[];
}

export async function post(sent: Call): Promise<Answer> {
  const response = await call("/mcp", { method: "POST", key, ...sent });
  const text = await response.text();
  return { response, text, body: text === "" ? undefined : JSON.parse(text) };
}

/** Sends a message. */
export const ask = (message: Message, revision?: string, more: Partial<Call> = {}): Promise<Answer> => {
  const { headers, ...sent } = messageCall(message, revision);
  return post({ ...sent, ...more, headers: { ...headers, ...more.headers } });
};

/** Sends a message that succeeds. Returns its result, without what every modern one has. */
export async function resultOf(message: Message, revision?: string, more?: Partial<Call>): Promise<Result> {
  const { response, body, text } = await ask(message, revision, more);
  expect(response.status, text).toBe(200);
  expect(response.headers.get("Content-Type")).toBe("application/json");
  expect(body, text).toEqual({ jsonrpc: "2.0", id: 1, result: expect.any(Object) });
  const { resultType, _meta, ...result } = body.result ?? expect.unreachable(text);
  const isModern = revision === MODERN;
  expect(resultType).toBe(isModern ? "complete" : undefined);
  expect(_meta).toEqual(
    isModern ? { [SERVER_INFO]: { name: "petstore", version: expect.stringMatching(/^\d/) } } : undefined,
  );
  return result;
}

export const callTool = (name: string, args: object, more?: Partial<Call>, revision?: string): Promise<Result> =>
  resultOf({ method: "tools/call", params: { name, arguments: args } }, revision, more);

export async function contentOf(name: string, args: object, more?: Partial<Call>) {
  const { content, structuredContent, isError } = await callTool(name, args, more);
  expect(isError, content[0]?.text).toBeUndefined();
  expect(content).toEqual([{ type: "text", text: expect.any(String) }]);
  expect(JSON.parse(content[0]?.text ?? "")).toEqual(structuredContent);
  return structuredContent ?? expect.unreachable("no structured content");
}

/** Calls a tool that fails. Returns the message, and the seconds to wait, if any. */
export async function refusalOf(name: string, args: object, code: ErrorCode, more?: Partial<Call>) {
  const result = await callTool(name, args, more);
  expect(result).toEqual({ content: [{ type: "text", text: expect.any(String) }], isError: true });
  const error: { code: string; message: string; retryAfter?: number } = JSON.parse(result.content[0]?.text ?? "");
  expect(error.code, error.message).toBe(code);
  return error;
}

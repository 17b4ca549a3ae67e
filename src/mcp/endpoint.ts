// POST /mcp: the Model Context Protocol over HTTP, without sessions and streams.
import type { Context, ExecutionContext, Handler } from "hono";
import { version } from "../../package.json";
import { hasScope } from "../auth/scopes.ts";
import { limitRate } from "../auth/rate-limit.ts";
import type { ApiKey, AppEnv } from "../env.ts";
import { ERRORS } from "../errors.ts";
import { apiKeyOf, authenticateRequest, ownerOf } from "../http/authentication.ts";
import { respondWithError } from "../http/error-handler.ts";
import { refusesCustomers } from "../http/guard.ts";
import { JSON_BODY, parse, receiveBody } from "../http/body.ts";
import { invalid } from "../http/validation.ts";
import { fromText, readArguments } from "./arguments.ts";
import { failure, requestOf, resultOf } from "./call.ts";
import {
  extended,
  idOf,
  isObject,
  type Message,
  messageOf,
  respond,
  respondWithRpcError,
  RpcError,
} from "./json-rpc.ts";
import { MODERN, OLDER, OLDEST, REVISIONS, revisionOf } from "./revision.ts";
import { toolsOf } from "./tools.ts";

const SERVER = { name: "petstore", version };
const CAPABILITIES = { tools: {} };
/** What modern results have beside their own members. */
const MODERN_MEMBERS = { resultType: "complete", _meta: { "io.modelcontextprotocol/serverInfo": SERVER } };

/** The service, which gets the request of a call. */
type Service = (request: Request, env: AppEnv["Bindings"], context: ExecutionContext) => Response | Promise<Response>;

/** A call whose arguments were checked. */
interface Call {
  id: string;
  revision: string;
  request: Request;
}

/** The handler of `/mcp`. A call counts against the limit of its key what its operation counts, and everything else counts once. */
export function endpoint(service: Service): Handler<AppEnv> {
  return async (c) => {
    c.get("log").agent = true;
    const key = await authenticateRequest(c);
    if (key instanceof Response) return key;
    if (key.token !== undefined) return respondWithError(c, refusesCustomers(c));
    let asked: Call | Response | undefined;
    try {
      asked = await answer(c, key);
    } finally {
      if (asked === undefined || asked instanceof Response) await limitRate(c.env, key, ownerOf(c));
    }
    return asked instanceof Response ? asked : run(c, service, asked);
  };
}

/** The response to a message, or the call that it asks for. */
async function answer(c: Context<AppEnv>, key: ApiKey): Promise<Call | Response> {
  const bytes = await receiveBody(c, JSON_BODY);
  if (bytes instanceof Response) return bytes;
  let id = "null";
  try {
    const body = parsed(bytes);
    id = idOf(body) ?? id;
    const message = messageOf(body);
    if (message.id === undefined) return c.body(null, 202);
    const revision = revisionOf(c, message);
    const outcome = await outcomeOf(c, key, message, revision);
    return typeof outcome === "string"
      ? respond(c, id, "result", complete(revision, outcome))
      : { id, revision, request: outcome };
  } catch (error) {
    if (error instanceof RpcError) return respondWithRpcError(c, id, error);
    throw error;
  }
}

function parsed(bytes: Uint8Array): unknown {
  try {
    return parse(bytes);
  } catch {
    throw new RpcError(-32_700, "The request body is not well-formed JSON in UTF-8.");
  }
}

/** The result of a method as JSON, or the call that it asks for. */
async function outcomeOf(
  c: Context<AppEnv>,
  { scopes }: ApiKey,
  { method, params }: Message,
  revision: string,
): Promise<string | Request> {
  const { instructions, tools } = await toolsOf(c.env);
  const isModern = revision === MODERN;
  if (isModern && method === "server/discover") {
    const caching = { ttlMs: 3_600_000, cacheScope: "public" };
    return JSON.stringify({ supportedVersions: REVISIONS, capabilities: CAPABILITIES, instructions, ...caching });
  }
  if (!isModern && method === "initialize") {
    const protocolVersion = OLDER.find((one) => one === params["protocolVersion"]) ?? OLDER[0];
    return JSON.stringify({ protocolVersion, capabilities: CAPABILITIES, serverInfo: SERVER, instructions });
  }
  if (!isModern && method === "ping") return "{}";
  if (method === "tools/list") {
    if (params["cursor"]) throw new RpcError(-32_602, "There is no such cursor: tools/list has one page.", 200);
    const listed = tools
      .filter(({ scope }) => scope === undefined || hasScope(scopes, scope))
      .map(({ definition }) => (revision === OLDEST ? { ...definition, title: undefined } : definition));
    return JSON.stringify({ tools: listed, ...(isModern && { ttlMs: 300_000, cacheScope: "private" }) });
  }
  if (method === "tools/call") {
    const tool = tools.find(({ definition }) => definition.name === params["name"]);
    if (tool === undefined) throw new RpcError(-32_602, "There is no such tool: see tools/list.", 200);
    const given = fromText(params["arguments"]) ?? {};
    if (!isObject(given)) throw new RpcError(-32_602, "arguments has to be an object.", 200);
    const { values, issues } = readArguments(tool, given);
    if (issues.length === 0) return requestOf(c, tool, values);
    const { code, message } = invalid(issues);
    c.get("log").errorCode = code;
    return failure({ code, message, status: ERRORS[code].status });
  }
  throw new RpcError(-32_601, "There is no such method.", isModern ? 404 : 200);
}

const complete = (revision: string, result: string) =>
  revision === MODERN ? extended(result, MODERN_MEMBERS) : result;

/** Sends the request of a call, which writes the line of the log. */
async function run(c: Context<AppEnv>, service: Service, { id, revision, request }: Call): Promise<Response> {
  // A read from a replica may miss what the call before wrote, and agents keep no bookmarks.
  const bindings = { ...c.env, READS: "primary", AGENT: true } as unknown as AppEnv["Bindings"];
  const response = await service(request, bindings, c.executionCtx);
  // The operation refuses a key without its scope before it counts.
  if (response.status === ERRORS.insufficient_scope.status) await limitRate(c.env, apiKeyOf(c), ownerOf(c));
  c.set("isDelegated", true);
  c.get("headers")["X-Request-Id"] = response.headers.get("X-Request-Id") ?? "";
  // The key expired, or was revoked, between the two.
  if (response.status === 401) return response;
  return respond(c, id, "result", complete(revision, await resultOf(response, revision !== OLDEST)));
}

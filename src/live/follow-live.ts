import type { Context } from "hono";
import * as z from "zod/mini";
import { bearerToken } from "../auth/bearer.ts";
import type { AppEnv } from "../env.ts";
import { ApiError, type ErrorCode, serviceUnavailable } from "../errors.ts";
import type { EventPage } from "../feed/event.ts";
import { decodeEventCursor } from "../feed/place.ts";
import { feedParameters, LATEST, scopeFor, typesFor } from "../feed/wanted.ts";
import { crc32 } from "../hash/crc32.ts";
import { sha256 } from "../hash/sha256.ts";
import { weightsOf } from "../http/accept.ts";
import { apiKeyOf, invalidKey, ownerOf } from "../http/authentication.ts";
import { guard } from "../http/guard.ts";
import { query } from "../http/query.ts";
import { jsonText, responseHeaders } from "../http/respond.ts";
import { handlersOf } from "../operation.ts";
import { lazy } from "../lazy.ts";
import type { Audience } from "./audience.ts";
import { asksForSocket, chosenProtocol } from "./handshake.ts";
import { NO_LIVE_FEED } from "./refusals.ts";
import { parseLiveObjects } from "./setting.ts";
import { HUB } from "./table.ts";

const EVENT_STREAM = "text/event-stream";

const liveQuery = lazy(() => z.strictObject(feedParameters()));

export const followLive = handlersOf("followLive", { withoutDatabase: true })(
  guard("events:read", "pets:read or orders:own"),
  query(liveQuery),
  async (c) => {
    const { cursor, type } = c.req.valid("query");
    const audience = await audienceOf(c, typesFor(c, type));
    const objects = parseLiveObjects(c.env.LIVE_OBJECTS);
    if (objects === 0) throw new ApiError("not_found", NO_LIVE_FEED);
    const isSocket = asksForSocket(c);
    const isStream = !isSocket && (weightsOf(c.req.header("Accept") ?? "").get(EVENT_STREAM) ?? 0) > 0;
    // Its stream would have no reader.
    if (isStream && c.req.method === "HEAD") return respond(c, 200, { "Content-Type": EVENT_STREAM });
    const last = c.req.header("Last-Event-ID");
    const place = last === undefined ? cursor : lastEvent(last);
    const headers = new Headers({ "x-audience": JSON.stringify(audience) });
    if (place !== undefined && place !== LATEST) headers.set("x-place", place.text);
    if (isSocket) headers.set("Upgrade", "websocket");
    if (isStream) headers.set("Accept", EVENT_STREAM);
    const owner = new TextEncoder().encode(ownerOf(c));
    const response = await ask(c, `${HUB}${crc32(owner) % objects}`, headers);
    if (isSocket) return respond(c, 101, chosenProtocol(c), { webSocket: response.webSocket });
    if (isStream) return respond(c, 200, { "Content-Type": EVENT_STREAM }, response);
    const page = await response.text().catch(objectEnded);
    return jsonText<EventPage & { bookmark?: string }, 200>(c, page, 200);
  },
);

/** @throws ApiError `invalid_request` */
function lastEvent(id: string) {
  const place = decodeEventCursor(id);
  if (place === undefined)
    throw new ApiError("invalid_request", "Last-Event-ID has to be one that this service handed out for events.");
  return place;
}

/** What the request may see, for as long as its key and its token are what they are now. */
async function audienceOf(c: Context<AppEnv>, types: readonly string[]): Promise<Audience> {
  const key = apiKeyOf(c);
  const { id, token, expiresAt } = key;
  const needed = types.map((type) => scopeFor(key, type));
  return {
    types,
    keyId: id,
    keyHash: token?.keyHash ?? (await sha256(bearerToken(c.req.header("Authorization") ?? "") ?? "")),
    customer: token?.customer ?? null,
    scopes: [...new Set([token === undefined ? ("events:read" as const) : ("tokens:create" as const), ...needed])],
    until: expiresAt === undefined ? null : Date.parse(expiresAt),
  };
}

/** @throws ApiError what the hub answers, or `service_unavailable` when it does not. */
async function ask(c: Context<AppEnv>, name: string, headers: Headers): Promise<Response> {
  const response = await c.env.WEBHOOKS.getByName(name).fetch(`https://hub/${name}`, { headers }).catch(objectEnded);
  if (response.status < 400) return response;
  const refusal = await response.json<{ code: ErrorCode; message: string }>().catch(objectEnded);
  const { code, message } = refusal.code === "unauthorized" ? invalidKey(c) : refusal;
  throw new ApiError(code, message);
}

/** An object may end at any moment: a release, a crash. @throws ApiError `service_unavailable` */
function objectEnded(cause: unknown): never {
  throw serviceUnavailable(cause);
}

/** Any other response than JSON, with the headers of every response. */
function respond(
  c: Context<AppEnv>,
  status: number,
  more: Record<string, string>,
  { body = null, webSocket = null }: { body?: ReadableStream | null; webSocket?: WebSocket | null } = {},
): Response {
  const response = new Response(body, { status, webSocket, headers: { ...responseHeaders(c), ...more } });
  c.set("finished", response);
  return response;
}

import type { Context, MiddlewareHandler } from "hono";
import type { AppEnv } from "../env.ts";
import { CLOSE } from "./listener.ts";

/** The subprotocol of the messages. */
export const PROTOCOL = "petstore.live.v1";

/** Whether a request asks for a socket (RFC 6455, section 4.1). */
export const asksForSocket = (c: Context<AppEnv>): boolean =>
  c.req.method === "GET" && c.req.header("Upgrade")?.toLowerCase() === "websocket";

/** The protocols that a client offers. */
const offers = (c: Context<AppEnv>): string[] =>
  (c.req.header("Sec-WebSocket-Protocol") ?? "").split(",").map((protocol) => protocol.trim());

/** The header that tells a client its protocol. One that did not offer it would fail. */
export const chosenProtocol = (c: Context<AppEnv>): { "Sec-WebSocket-Protocol"?: string } =>
  offers(c).includes(PROTOCOL) ? { "Sec-WebSocket-Protocol": PROTOCOL } : {};

/**
 * What a page needs: it can set no header of a socket but the protocols, so the second of them is its token, and it cannot read a refusal,
 * so it gets a socket that closes with 4000 and the status. Around everything else, so that the log has the status.
 */
export const handshakeOfPages: MiddlewareHandler<AppEnv> = async (c, next) => {
  if (!asksForSocket(c) || !offers(c).includes(PROTOCOL)) return await next();
  const token = offers(c).find((offer) => offer !== PROTOCOL);
  if (token !== undefined && c.req.header("Authorization") === undefined) {
    const headers = new Headers(c.req.raw.headers);
    headers.set("Authorization", `Bearer ${token}`);
    c.req.raw = new Request(c.req.raw, { headers });
  }
  await next();
  if (c.res.status < 400) return;
  const { 0: client, 1: server } = new WebSocketPair();
  server.accept();
  server.close(CLOSE + c.res.status, c.get("log").errorCode ?? "");
  const headers = new Headers(c.res.headers);
  for (const name of ["Content-Type", "Content-Length"]) headers.delete(name);
  headers.set("Sec-WebSocket-Protocol", PROTOCOL);
  const response = new Response(null, { status: 101, webSocket: client, headers });
  // Hono would copy one that is set over another.
  c.res = undefined;
  c.res = response;
};

import { createExecutionContext, waitOnExecutionContext } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { expect, vi } from "vitest";
import { createApp } from "../../src/app.ts";
import type { EventPage } from "../../src/feed/event.ts";
import type { AppEnv } from "../../src/env.ts";
import { see } from "../support/contract.ts";
import { ORIGIN } from "../support/client.ts";
import { key } from "../support/keys.ts";

export const PROTOCOL = "petstore.live.v1";
const app = createApp();
/** What was sent to several is read once. */
const known = new Map<string, EventPage>();

/** Sends a request to the app, without looking at the response: that of a stream does not end. */
export async function send(path: string, headers: Record<string, string>, bindings: Partial<AppEnv["Bindings"]> = {}) {
  const context = createExecutionContext();
  const response = await app.fetch(new Request(ORIGIN + path, { headers }), { ...env, ...bindings }, context);
  await waitOnExecutionContext(context);
  return response;
}

/** Waits until nothing fails. */
export const until = <Result>(look: () => Result) => vi.waitFor(look, { timeout: 10_000, interval: 5 });

/** A socket of a client, with what it has got. */
export class Listener {
  readonly socket: WebSocket;
  readonly protocol: string | null;
  readonly texts: string[] = [];
  readonly events: EventPage["events"][number][] = [];
  /** Of the last page. Empty before the first. */
  cursor = "";
  closed: { code: number; reason: string } | undefined;

  constructor(response: Response) {
    const { webSocket } = response;
    if (webSocket === null) throw new Error(`No socket, but ${response.status}`);
    this.protocol = response.headers.get("Sec-WebSocket-Protocol");
    this.socket = webSocket;
    webSocket.addEventListener("message", ({ data }) => this.#take(String(data)));
    webSocket.addEventListener("close", ({ code, reason }) => {
      this.closed = { code, reason };
    });
    webSocket.accept();
  }

  #take(text: string): void {
    this.texts.push(text);
    if (text === "pong") return;
    const page = known.get(text) ?? see("followLive", 200, JSON.parse(text) as EventPage);
    known.set(text, page);
    this.events.push(...page.events);
    this.cursor = page.cursor;
  }

  get bytes(): number {
    return this.texts.reduce((sum, text) => sum + new TextEncoder().encode(text).length, 0);
  }

  /** Waits for the close. Returns its code and its reason. */
  async end() {
    await until(() => expect(this.closed).toBeDefined());
    return this.closed;
  }

  /** Waits for so many events. Returns the types and the ids of their resources. */
  async heard(count: number): Promise<string[]> {
    await until(() => expect(this.events.length).toBeGreaterThanOrEqual(count));
    return this.events.map(({ type, data }) => `${type} ${(data as { id: number }).id}`);
  }
}

interface Options {
  /** The key of the tests, unless given. */
  key?: string;
  /** Of a page, which offers it beside the protocol instead of a key. */
  token?: string;
  /** Instead of these. */
  protocols?: string;
  query?: string;
  bindings?: Partial<AppEnv["Bindings"]>;
}

/** Opens a socket. */
export async function connect({ token, protocols, query = "", bindings, ...options }: Options = {}): Promise<Listener> {
  const offer = protocols ?? (token === undefined ? undefined : `${PROTOCOL}, ${token}`);
  const headers = {
    Upgrade: "websocket",
    ...(offer === undefined || options.key ? { Authorization: `Bearer ${options.key ?? key}` } : {}),
    ...(offer !== undefined && { "Sec-WebSocket-Protocol": offer }),
  };
  return new Listener(await send(`/v1/events/live?${query}`, headers, bindings));
}

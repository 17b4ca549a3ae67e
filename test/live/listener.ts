import { createExecutionContext, waitOnExecutionContext } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { expect, vi } from "vitest";
import { createApp } from "../../src/app.ts";
import type { EventPage } from "../../src/feed/event.ts";
import type { AppEnv } from "../../src/env.ts";
import { see } from "../support/contract.ts";
import { ORIGIN } from "../support/client.ts";

const app = createApp();

/** Sends a request to the app, without looking at the response: that of a stream does not end. */
export async function send(path: string, headers: Record<string, string>, bindings: Partial<AppEnv["Bindings"]> = {}) {
  const context = createExecutionContext();
  const response = await app.fetch(new Request(ORIGIN + path, { headers }), { ...env, ...bindings }, context);
  await waitOnExecutionContext(context);
  return response;
}

/** A socket of a client, with what it has got. */
export class Listener {
  readonly socket: WebSocket;
  readonly protocol: string | null;
  readonly pages: (EventPage & { bookmark?: string })[] = [];
  readonly texts: string[] = [];
  closed: { code: number; reason: string } | undefined;

  constructor(response: Response) {
    const { webSocket } = response;
    if (webSocket === null) throw new Error(`No socket, but ${response.status}`);
    this.protocol = response.headers.get("Sec-WebSocket-Protocol");
    this.socket = webSocket;
    webSocket.addEventListener("message", ({ data }) => {
      this.texts.push(String(data));
      if (data !== "pong") this.pages.push(see("followLive", 200, JSON.parse(String(data)) as EventPage));
    });
    webSocket.addEventListener("close", ({ code, reason }) => {
      this.closed = { code, reason };
    });
    webSocket.accept();
  }

  get events() {
    return this.pages.flatMap(({ events }) => events);
  }

  get cursor(): string {
    return this.pages.at(-1)?.cursor ?? "";
  }

  /** Waits for the first page. */
  async started(): Promise<this> {
    await expect.poll(() => this.pages.length).toBeGreaterThan(0);
    return this;
  }

  /** Waits for the close. Returns its code and its reason. */
  async end() {
    return await vi.waitFor(
      () => {
        if (this.closed === undefined) throw new Error("It is open");
        return this.closed;
      },
      { timeout: 30_000 },
    );
  }

  /** Waits for so many events. Returns the types and the ids of their resources. */
  async heard(count: number): Promise<string[]> {
    const heard = () => this.events.map(({ type, data }) => `${type} ${(data as { id: number }).id}`);
    await vi.waitFor(
      () => {
        if (heard().length < count) throw new Error(`There are ${heard().join()}`);
      },
      { timeout: 30_000, interval: 20 },
    );
    return heard();
  }
}

interface Options {
  key?: string;
  query?: string;
  protocols?: string;
  bindings?: Partial<AppEnv["Bindings"]>;
}

/** Opens a socket, with a key in the header or with protocols. */
export async function connect({ key, query = "", protocols, bindings }: Options): Promise<Listener> {
  const headers = {
    Upgrade: "websocket",
    ...(key !== undefined && { Authorization: `Bearer ${key}` }),
    ...(protocols !== undefined && { "Sec-WebSocket-Protocol": protocols }),
  };
  return new Listener(await send(`/v1/events/live?${query}`, headers, bindings));
}

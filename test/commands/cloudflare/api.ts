import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { analyticsRoutes } from "./analytics.ts";
import { Databases } from "./databases.ts";
import { importRoutes } from "./imports.ts";
import { Logs } from "./logs.ts";
import { close, listen } from "./loopback.ts";
import { Namespaces } from "./namespaces.ts";
import { Refusal, type Route } from "./route.ts";
import { sendMessages } from "./websocket.ts";
import { Workers } from "./workers.ts";

export const ACCOUNT = "00000000000000000000000000acc001";

/** Requests that get an error instead of a response of the API. */
interface Fault {
  method: string;
  /** Anywhere in the path. */
  path: string;
  refusal: Refusal;
}

/**
 * A fake of Cloudflare's API on loopback, as far as wrangler 4.155.0 and the commands of this repository use it. It runs SQL in
 * SQLite. It stores Workers and never runs them. It records every request.
 */
export class CloudflareApi {
  readonly databases = new Databases();
  readonly logs = new Logs();
  readonly namespaces = new Namespaces();
  readonly workers = new Workers();
  /** Method and path of each request, without the account. */
  readonly requests: string[] = [];
  /** Every token that a request carried. */
  readonly tokens = new Set<string | undefined>();
  url = "";
  #faults: Fault[] = [];
  #held: { method: string; path: string; arrived: () => void } | undefined;
  readonly #routes: Route[] = [
    ...account(),
    ...this.databases.routes(),
    ...this.namespaces.routes(),
    ...this.workers.routes(),
    ...this.logs.routes(() => this.url),
    ...importRoutes(this.databases, () => this.url),
    ...analyticsRoutes(this.databases),
  ];
  readonly #server = createServer((request, response) => void this.#serve(request, response));

  async listen(): Promise<this> {
    this.#server.on("upgrade", (request, socket) =>
      sendMessages(request, socket, this.logs.messages(request.url?.replace("/tails/", "") ?? "")),
    );
    this.url = await listen(this.#server);
    return this;
  }

  async close(): Promise<void> {
    await close(this.#server);
    this.databases.close();
  }

  /** The environment variables with which a command reaches only this account. */
  environment(): Record<string, string> {
    return {
      CLOUDFLARE_API_BASE_URL: this.url,
      CLOUDFLARE_API_TOKEN: "token-of-the-tests",
      CLOUDFLARE_ACCOUNT_ID: ACCOUNT,
    };
  }

  /** Responds to matching requests with an error until `repair`. wrangler repeats only requests that fail with 5xx. */
  break(method: string, path: string, refusal = new Refusal(400, 7400, "The fake was told to fail")): void {
    this.#faults.push({ method, path, refusal });
  }

  /** Leaves matching requests without a response until `repair`. Resolves when the first one arrives. */
  hold(method: string, path: string): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#held = { method, path, arrived: resolve };
    return promise;
  }

  repair(): void {
    this.#faults = [];
    this.#held = undefined;
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = new URL(request.url ?? "/", this.url);
    const path = url.pathname.replace(`/accounts/${ACCOUNT}`, "");
    const method = request.method ?? "GET";
    this.requests.push(`${method} ${path}`);
    this.tokens.add(request.headers.authorization?.replace("Bearer ", ""));
    const held = this.#held;
    if (held?.method === method && path.includes(held.path)) return held.arrived();
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const headers = Object.entries(request.headers).map(([name, value]) => [name, String(value)] as [string, string]);
    const body = new Response(Buffer.concat(chunks), { headers });
    try {
      const fault = this.#faults.find((fault) => fault.method === method && path.includes(fault.path));
      if (fault !== undefined) throw fault.refusal;
      const whole = await this.#answer(method, path, url.searchParams, body);
      // The first page contains the whole list. Some of wrangler's commands read further pages until one is empty.
      const result = Array.isArray(whole) && Number(url.searchParams.get("page") ?? 1) > 1 ? [] : whole;
      if (result instanceof Response) {
        response.writeHead(result.status, Object.fromEntries(result.headers));
        return void response.end(await result.bytes());
      }
      send(response, 200, { success: true, errors: [], messages: [], result, ...pages(result) });
    } catch (error) {
      const { status, code, message } = error instanceof Refusal ? error : new Refusal(500, 10_013, String(error));
      send(response, status, { success: false, errors: [{ code, message }], messages: [], result: null });
    }
  }

  async #answer(method: string, path: string, query: URLSearchParams, body: Response): Promise<unknown> {
    for (const route of this.#routes) {
      const match = route.method === method ? route.path.exec({ pathname: path }) : null;
      if (match !== null) return route.answer({ params: decoded(match.pathname.groups), query, body });
    }
    throw new Refusal(501, 7003, `The fake has no ${method} ${path}`);
  }
}

function account(): Route[] {
  const route = (path: string, answer: unknown): Route => ({
    method: "GET",
    path: new URLPattern({ pathname: path }),
    answer: () => answer,
  });
  return [
    route("/user", { id: "user", email: "somebody@example.com" }),
    route("/user/tokens/verify", { id: "token", status: "active" }),
    route("/accounts", [{ id: ACCOUNT, name: "Somebody" }]),
    route("/memberships", [{ id: "membership", account: { id: ACCOUNT, name: "Somebody" }, roles: [] }]),
  ];
}

function decoded(groups: Record<string, string | undefined>): Record<string, string> {
  return Object.fromEntries(Object.entries(groups).map(([name, value]) => [name, decodeURIComponent(value ?? "")]));
}

function pages(result: unknown): object {
  if (!Array.isArray(result)) return {};
  return { result_info: { page: 1, per_page: 100, count: result.length, total_count: result.length, total_pages: 1 } };
}

function send(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { "Content-Type": "application/json" }).end(JSON.stringify(body));
}

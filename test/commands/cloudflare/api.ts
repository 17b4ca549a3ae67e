import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import { Buckets } from "./buckets.ts";
import { Databases } from "./databases.ts";
import { importRoutes } from "./imports.ts";
import type { Limit } from "./limit.ts";
import { close, listen } from "./loopback.ts";
import { Namespaces } from "./namespaces.ts";
import { checkRights } from "./rights.ts";
import { type Effect, Page, Refusal, type Route, routes } from "./route.ts";
import { Workers } from "./workers.ts";

export const ACCOUNT = "00000000000000000000000000acc001";

/** Requests that get an error instead of a response of the API. */
interface Fault {
  method: string;
  /** Anywhere in the path. */
  path: string;
  effect: Effect;
  /** How many requests pass by before, and how many meet it. */
  after: number;
  times: number;
}

/** A request that waits. */
interface Arrival {
  /** Resolves when the one who sent it is gone. */
  ended: Promise<void>;
}

/** Milliseconds. */
const LATE = 200;

/**
 * A fake of Cloudflare's API on loopback, as far as wrangler 4.155.0 and the commands of this repository use it. It runs SQL in
 * SQLite. It stores Workers and never runs them. It records every request.
 */
export class CloudflareApi {
  readonly buckets = new Buckets();
  readonly databases = new Databases();
  readonly namespaces = new Namespaces();
  readonly workers = new Workers();
  /** Method and path of each request, without the account. */
  readonly requests: string[] = [];
  /** Every token that a request carried. */
  readonly tokens = new Set<string | undefined>();
  /** Tokens that are valid no more. */
  readonly expired = new Set<string | undefined>();
  /** The permissions of every token, as the dashboard names them. All of them when undefined. */
  rights: readonly string[] | undefined;
  /** Those that let requests pass, the least of each request. */
  readonly usedRights = new Set<string | undefined>();
  /** Is shown every request with its body, which it has to clone. */
  watch: ((request: string, body: Response) => void) | undefined;
  /** How many requests the API takes. As many as there are, unless a test sets it. */
  limit: Limit | undefined;
  url = "";
  /** Items on a page of a list at most, whatever a request asks for. */
  pageSize = Infinity;
  /** Milliseconds by which its clock is ahead of this machine's. Undefined: it sends no Date. */
  clock: number | undefined = 0;
  #faults: Fault[] = [];
  #held:
    | { method: string; path: string; arrived: (arrival: Arrival) => void; repaired: Promise<void>; repair: () => void }
    | undefined;
  readonly #routes: Route[] = [
    ...account(),
    ...this.buckets.routes(),
    ...this.databases.routes(),
    ...this.namespaces.routes(),
    ...this.workers.routes(),
    ...importRoutes(this.databases, () => this.url),
  ];
  readonly #server = createServer((request, response) => void this.#serve(request, response));

  async listen(): Promise<this> {
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

  /**
   * Has matching requests meet a fault, until `repair`.
   *
   * @param after how many of them pass by before, and `times` how many meet it.
   */
  break(
    method: string,
    path: string,
    effect: Effect = new Refusal(400, 7400, "The fake was told to fail"),
    { after = 0, times = Infinity }: { after?: number; times?: number } = {},
  ): void {
    this.#faults.push({ method, path, effect, after, times });
  }

  /** Has requests meet a fault, by their numbers from now on, until `repair`. */
  breakFrom(first: number, effect: Effect, times = Infinity): void {
    this.break("", "", effect, { after: first, times });
  }

  #effectOn(method: string, path: string): Effect | undefined {
    for (const fault of this.#faults) {
      if (!method.endsWith(fault.method) || !path.includes(fault.path)) continue;
      if (fault.after-- > 0) continue;
      if (fault.times-- > 0) return fault.effect;
    }
    return undefined;
  }

  /** Has matching requests wait for `repair`. Resolves when the first one is there, with the end of its connection. */
  hold(method: string, path: string): Promise<Arrival> {
    const arrival = Promise.withResolvers<Arrival>();
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#held = { method, path, arrived: arrival.resolve, repaired: promise, repair: resolve };
    return arrival.promise;
  }

  repair(): void {
    this.#faults = [];
    this.#held?.repair();
    this.#held = undefined;
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = new URL(request.url ?? "/", this.url);
    const path = url.pathname.replace(`/accounts/${ACCOUNT}`, "");
    const method = request.method ?? "GET";
    this.requests.push(`${method} ${path}`);
    const token = request.headers.authorization?.replace("Bearer ", "");
    this.tokens.add(token);
    response.sendDate = false;
    if (this.clock !== undefined) response.setHeader("Date", new Date(Date.now() + this.clock).toUTCString());
    const chunks: Buffer[] = [];
    try {
      for await (const chunk of request) chunks.push(chunk as Buffer);
    } catch {
      // The one who sends it was killed.
      return;
    }
    const held = this.#held;
    if (held?.method === method && path.includes(held.path)) {
      held.arrived({ ended: new Promise((resolve) => void request.socket.once("close", () => resolve())) });
      await held.repaired;
      if (request.socket.destroyed) return;
    }
    const headers = Object.entries(request.headers).map(([name, value]) => [name, String(value)] as [string, string]);
    const body = new Response(Buffer.concat(chunks), { headers });
    this.watch?.(`${method} ${path}`, body);
    try {
      if (this.expired.has(token)) throw new Refusal(401, 10_000, "Authentication error");
      if (this.rights !== undefined) this.usedRights.add(checkRights(method, path, this.rights));
      for (const [name, value] of Object.entries(this.limit?.admit() ?? {})) response.setHeader(name, value);
      const effect = this.#effectOn(method, path);
      if (effect instanceof Refusal) throw effect;
      if (effect instanceof Page) {
        response.writeHead(effect.status, { "Content-Type": "text/html" }).end("<html><body>Bad day</body></html>");
        return;
      }
      if (effect === "cut") return void response.destroy();
      if (effect === "late") await sleep(LATE);
      const whole = await this.#answer(method, path, url.searchParams, body);
      if (effect === "lost") return void response.destroy();
      const start = (Number(url.searchParams.get("page") ?? 1) - 1) * this.pageSize || 0;
      const result = Array.isArray(whole) ? whole.slice(start, start + this.pageSize) : whole;
      if (result instanceof Response) {
        response.writeHead(result.status, Object.fromEntries(result.headers));
        return void response.end(await result.bytes());
      }
      send(response, 200, { success: true, errors: [], messages: [], result, ...pages(result, whole) });
    } catch (error) {
      const refusal = error instanceof Refusal ? error : new Refusal(500, 10_013, String(error));
      const { status, code, message, headers } = refusal;
      send(response, status, { success: false, errors: [{ code, message }], messages: [], result: null }, headers);
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

const account = () =>
  routes({
    "GET /user": () => ({ id: "user", email: "somebody@example.com" }),
    "GET /user/tokens/verify": () => ({ id: "token", status: "active" }),
    "GET /accounts": () => [{ id: ACCOUNT, name: "Somebody" }],
    "GET /memberships": () => [{ id: "membership", account: { id: ACCOUNT, name: "Somebody" }, roles: [] }],
  });

function decoded(groups: Record<string, string | undefined>): Record<string, string> {
  return Object.fromEntries(Object.entries(groups).map(([name, value]) => [name, decodeURIComponent(value ?? "")]));
}

function pages(result: unknown, whole: unknown): object {
  if (!Array.isArray(result) || !Array.isArray(whole)) return {};
  return { result_info: { page: 1, per_page: 100, count: result.length, total_count: whole.length, total_pages: 1 } };
}

function send(response: ServerResponse, status: number, body: unknown, headers: Record<string, string> = {}): void {
  response.writeHead(status, { "Content-Type": "application/json", ...headers }).end(JSON.stringify(body));
}

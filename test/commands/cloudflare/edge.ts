import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { text } from "node:stream/consumers";
import { keyRecordName } from "../../../src/auth/key-record.ts";
import type { CloudflareApi } from "./api.ts";
import { close, listen } from "./loopback.ts";
import { askService } from "./service.ts";
import type { Version } from "./workers.ts";

/**
 * The address of a Worker of the fake account. It chooses a version like Cloudflare, and responds from that version's bindings
 * like the service. The real one responds about keys and webhooks.
 */
export class Edge {
  url = "";
  /** When set, every response has this status. */
  failure: number | undefined;
  /** Whether D1 fails for the service alone. */
  lacksDatabase = false;
  readonly #api: CloudflareApi;
  readonly #worker: string;
  readonly #server = createServer((request, response) => void this.#serve(request, response));

  constructor(api: CloudflareApi, worker: string) {
    this.#api = api;
    this.#worker = worker;
  }

  async listen(): Promise<this> {
    this.url = await listen(this.#server);
    return this;
  }

  close(): Promise<void> {
    return close(this.#server);
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const override = String(request.headers["cloudflare-workers-version-overrides"] ?? "");
    const version = this.#choose(/^([\w-]+)="([\w-]+)"$/.exec(override));
    if (this.failure !== undefined || version === undefined) {
      return void response.writeHead(this.failure ?? 404).end();
    }
    if (request.url === "/health") {
      return void response.end(JSON.stringify({ status: "ok", version: "1.0.0", deployment: version.id }));
    }
    if (/^\/v1\/(?:key|webhooks)/.test(request.url ?? ""))
      return this.#ask(version, request, response).catch(() => void response.writeHead(503).end());
    response.writeHead(await this.#status(version, request.headers.authorization)).end();
  }

  /** Has the real service respond, on the rows of the fake. */
  async #ask({ bindings }: Version, request: IncomingMessage, response: ServerResponse): Promise<void> {
    const bound = (name: string) => bindings.find((binding) => binding.name === name);
    const keys = this.#api.namespaces.all.get(String(bound("API_KEYS")?.["namespace_id"]));
    const { headers, method, url: path = "" } = request;
    const kept = ["authorization", "content-type", "idempotency-key", "if-match"] as const;
    const answer = await askService(this.#api.databases, String(bound("DB")?.["id"]), {
      path,
      method,
      headers: Object.fromEntries(kept.flatMap((name) => (headers[name] ? [[name, String(headers[name])]] : []))),
      body: await text(request),
      tables: ["webhooks", "events"],
      ...(keys && { keys }),
    });
    // fetch has unzipped the body.
    for (const name of ["content-encoding", "content-length", "transfer-encoding"]) answer.headers.delete(name);
    response.writeHead(answer.status, Object.fromEntries(answer.headers)).end(await answer.text());
  }

  /** The version in an override, or else the one with the largest share. */
  #choose(override: RegExpExecArray | null): Version | undefined {
    const worker = this.#api.workers.all.get(this.#worker);
    const shares = worker?.deployments.at(-1)?.versions ?? [];
    const named = override?.[1] === this.#worker ? shares.find((share) => share.version_id === override[2]) : undefined;
    const chosen = named ?? shares.toSorted((a, b) => b.percentage - a.percentage)[0];
    return worker?.versions.find(({ id }) => id === chosen?.version_id);
  }

  async #status({ bindings }: Version, authorization: string | undefined): Promise<number> {
    const binding = bindings.find(({ name }) => name === "API_KEYS");
    const keys = this.#api.namespaces.all.get(String(binding?.["namespace_id"]));
    if (keys === undefined) return 503;
    const key = /^Bearer (.+)$/.exec(authorization ?? "")?.[1];
    if (key === undefined || !keys.entries.has(await keyRecordName(key))) return 401;
    if (this.#api.databases.failure !== undefined || this.lacksDatabase) return 503;
    const database = this.#api.databases.all.get(String(bindings.find(({ name }) => name === "DB")?.["id"]));
    try {
      this.#api.databases.query(database?.name ?? "", "SELECT id FROM pets LIMIT 1");
      return 200;
    } catch {
      return 503;
    }
  }
}

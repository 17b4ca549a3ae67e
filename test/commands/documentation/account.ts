import { keyRecordName } from "../../../src/auth/key-record.ts";
import { generateKey } from "../../../src/auth/key-format.ts";
import { resolve } from "node:path";
import { CloudflareApi } from "../cloudflare/api.ts";
import type { Checkout } from "../cloudflare/checkout.ts";
import { Edge } from "../cloudflare/edge.ts";
import { addReleases, RECORD } from "../cloudflare/fixture.ts";
import { WRANGLER_SETTINGS } from "../../../scripts/wrangler.ts";
import { Reader } from "./reader.ts";

const KEY_ID = RECORD.id;
const ANIMAL = "INSERT INTO pets (name, category_id, status) VALUES ('Rex', 9007199254740993, 'available')";
const IDEMPOTENCY_KEY = `INSERT INTO idempotency_keys (api_key_id, idempotency_key, fingerprint, resource_id, created_at)
  VALUES ('${KEY_ID}', '1', '', 1, unixepoch())`;
const WEBHOOK = `INSERT INTO webhooks (tag, url, types, created_by, created_at, place)
  VALUES (1, 'https://shop.example/', '["pet.created"]', '${KEY_ID}', '2026-01-01T00:00:00.000Z', '000000000000000100000001')`;

/** An account that runs staging and production, for an operator with a checkout of the repository. */
export class Operator {
  readonly api: CloudflareApi;
  readonly checkout: Checkout;
  readonly key = generateKey("production");
  /** A time before the incident. */
  goodMoment = "";
  readonly #edges: Edge[];
  readonly #reader: Reader;

  private constructor(checkout: Checkout, api: CloudflareApi, edges: Edge[]) {
    this.checkout = checkout;
    this.api = api;
    this.#edges = edges;
    const [production, staging, preview] = edges.map(({ url }) => url);
    this.#reader = new Reader(checkout.folder, {
      ...WRANGLER_SETTINGS,
      PATH: `${resolve("node_modules/.bin")}:${WRANGLER_SETTINGS.PATH}`,
      ...api.environment(),
      // A person has a terminal.
      CI: "",
      EDGE_PRODUCTION: production ?? "",
      EDGE_STAGING: staging ?? "",
      EDGE_PREVIEW: preview ?? "",
      REQUEST_ID: "1",
    });
  }

  static async start(checkout: Checkout): Promise<Operator> {
    const api = await new CloudflareApi().listen();
    const workers = ["petstore-production", "petstore-staging", "petstore-preview-try-this"];
    const operator = new Operator(
      checkout,
      api,
      await Promise.all(workers.map((worker) => new Edge(api, worker).listen())),
    );
    for (const worker of ["petstore-production", "petstore-staging"]) {
      addReleases(api, worker, 3, checkout.git("rev-parse", "HEAD"));
      for (const sql of [ANIMAL, ANIMAL, IDEMPOTENCY_KEY, WEBHOOK]) api.databases.query(worker, sql);
      const keys = api.namespaces.titled(`${worker}-api-keys`);
      const entry = { value: JSON.stringify(RECORD), metadata: RECORD };
      keys?.entries.set(await keyRecordName(operator.key), entry);
      api.databases.snapshot(worker);
    }
    operator.goodMoment = new Date().toISOString();
    return operator;
  }

  async stop(): Promise<void> {
    this.#reader.leave();
    for (const edge of this.#edges) await edge.close();
    await this.api.close();
  }

  /** Runs a command of the documentation, with the names of this account. */
  run(command: string) {
    return this.#reader.run(this.#named(command), `${this.key}\n`);
  }

  #named(command: string): string {
    const versions = this.api.workers.all.get("petstore-production")?.versions ?? [];
    return command
      .replaceAll(/\bkey_\w{12}\b/g, KEY_ID)
      .replaceAll(/--promote <version id>/g, `--promote ${versions.at(-1)?.id}`)
      .replaceAll("<version id>", versions[0]?.id ?? "")
      .replaceAll(
        "<moment>",
        /petstore-production\/([^/]+)/.exec([...this.api.buckets.objects.keys()].join())?.[1] ?? "",
      )
      .replaceAll(/<bookmark[^>]*>/g, () => this.api.databases.lastBookmark("petstore-production"))
      .replaceAll(/\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ/g, this.goodMoment);
  }
}

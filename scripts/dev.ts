// npm run dev: prepares the local storage, serves it with wrangler, and prints how to call the service. It uses one process,
// because wrangler takes more than a second to load.
import { fork } from "node:child_process";
import { once } from "node:events";
import { constants } from "node:os";
import { inspect, parseArgs } from "node:util";
import getPort, { portNumbers } from "get-port";
import type { Miniflare } from "miniflare";
import { LOCAL_API_KEY } from "../src/local-api-key.ts";
import { refuseWindows } from "./platform.ts";
import { joinStorage } from "./same-storage.ts";
import { WRANGLER_SETTINGS } from "./wrangler.ts";

refuseWindows();

const USAGE = `Usage: npm run dev -- [--port <number>] [--ip <address>] [--persist-to <folder>]
\`npx wrangler dev\` takes all of wrangler's options, and serves the same storage.`;

/** wrangler's own default. */
const DEFAULT_PORT = 8787;
const LAST_PORT = DEFAULT_PORT + 20;

/** Milliseconds between two looks whether the parent is still there. */
const PARENT_MILLISECONDS = 500;

// Exits explicitly, because a signal alone would skip the "exit" event, whose listeners end workerd and remove the file of this
// process.
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) {
  process.once(signal, () => process.exit(128 + constants.signals[signal]));
}

// npm passes on a signal to this process, because `exec` leaves no shell between them. A killed npm passes on nothing, and nothing else tells
// of its end.
const parent = process.ppid;
setInterval(() => process.ppid === parent || process.exit(128 + constants.signals.SIGHUP), PARENT_MILLISECONDS).unref();

const { ip, port, state } = readOptions();
if (port !== undefined && port !== 0 && (await getPort({ port })) !== port) {
  fail(`Port ${port} is in use. Choose another one: npm run dev -- --port <number>`);
}

const storageFailed = (error: unknown) =>
  fail(`${String(error)}\nThe local storage in ${state} could not be prepared. Is another command writing to it?`);
const { neighbours, serveAt } = await joinStorage(state).catch(storageFailed);
for (const { address = "still starting" } of neighbours) {
  console.log(`Another npm run dev (${address}) uses the same storage: each sees what the other writes.`);
}

Object.assign(process.env, WRANGLER_SETTINGS);
// Imported here, so that a mistake in the arguments is reported at once.
const { prepareStorage } = await import("./local-state.ts");
const { unstable_DevEnv } = await import("wrangler");

type Event = Parameters<typeof unstable_DevEnv.prototype.dispatch>[0];

/**
 * The runtime of `wrangler dev`. It prepares the storage before the first request reaches it, and builds the pages after each reload.
 */
class DevServer extends unstable_DevEnv {
  #prepared: Promise<void> | undefined;
  #bundle: Event | undefined;
  #pages: "fresh" | "building" | "stale" = "fresh";

  override dispatch(event: Event): void {
    if (event.type === "bundleComplete") this.#bundle = event;
    if (event.type !== "reloadComplete") return super.dispatch(event);
    this.#prepared ??= this.#prepare().catch(storageFailed);
    void this.#prepared.then(() => super.dispatch(event)).then(() => this.#buildPages());
  }

  #buildPages(): void {
    if (this.#pages !== "fresh") {
      this.#pages = "stale";
      return;
    }
    this.#pages = "building";
    const build = fork("openapi/build.ts", { env: { ...process.env, PAGES: "now" } });
    // Another reload: the runtime serves the files that it found at the last one.
    build.on("message", () => this.#bundle && super.dispatch(this.#bundle));
    build.on("close", () => {
      const isStale = this.#pages === "stale";
      this.#pages = "fresh";
      if (isStale) this.#buildPages();
    });
  }

  async #prepare(): Promise<void> {
    console.log("Preparing local storage: migrations, API key, first animals ...");
    // wrangler's own createTestHarness() accesses the runtime in the same way.
    const [{ mf }] = this.runtimes as unknown as [{ mf: Miniflare }];
    await prepareStorage(await mf.getBindings<Env>());
  }
}

const wrangler = new DevServer();
wrangler.on("error", (error) => fail(reason(error)));
// Before the server starts, so that the event is not missed.
const serving = once(wrangler, "reloadComplete");
const worker = await wrangler
  .startWorker({
    config: "wrangler.toml",
    // The top level of wrangler.toml, even if CLOUDFLARE_ENV is set.
    env: "",
    // wrangler.toml has no nodejs_compat flag. With one, this would be "v2".
    build: { nodejsCompatMode: null },
    dev: {
      server: { port: port ?? (await firstFreePort()), hostname: ip },
      // wrangler would look for a free port from 9229 on, which another one may take before workerd listens there.
      inspector: false,
      persist: state,
    },
  })
  .catch((error: unknown) => fail(reason(error)));
await serving;
// wrangler runs the build before each reload from now on.
process.env["PAGES"] = "later";
const { origin } = await worker.url;
serveAt(origin);
console.log(`
The documentation is at ${origin}/docs
The console is at ${origin}/console
Paste these lines into another terminal:

BASE=${origin}/v1
KEY=${LOCAL_API_KEY}
curl -H "Authorization: Bearer $KEY" "$BASE/pets"
`);

function readOptions(): { ip: string | undefined; port: number | undefined; state: string } {
  const options = {
    env: { type: "string", short: "e" },
    ip: { type: "string" },
    "persist-to": { type: "string", default: ".wrangler/state" },
    port: { type: "string" },
  } as const;
  try {
    const { env, ip, port, "persist-to": state } = parseArgs({ options }).values;
    if (env !== undefined) return fail("npm run dev is local development; it takes no --env.");
    if (port !== undefined && !(/^\d{1,5}$/.test(port) && Number(port) <= 65_535)) {
      return fail("A port is a number from 1 to 65535, or 0 for any free one.");
    }
    return { ip, port: port === undefined ? undefined : Number(port), state };
  } catch (error) {
    return fail(`${error instanceof Error ? error.message : String(error)}\n${USAGE}`);
  }
}

async function firstFreePort(): Promise<number> {
  const port = await getPort({ port: portNumbers(DEFAULT_PORT, LAST_PORT) });
  if (port !== DEFAULT_PORT) console.log(`Port ${DEFAULT_PORT} is in use; taking ${port}.`);
  return port;
}

/** The cause of a failure, which wrangler wraps once in an error or in an event. */
function reason(wrapped: unknown): string {
  const { cause = wrapped } = wrapped as { cause?: unknown };
  return cause instanceof Error ? cause.message : inspect(cause);
}

function fail(message: string): never {
  console.error(message);
  process.exit(1);
}

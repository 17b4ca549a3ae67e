// npm run dev: prepares the local state, starts `wrangler dev` with whatever arguments were given, and says how to call it.
import { once } from "node:events";
import { createServer } from "node:net";
import { createInterface } from "node:readline";
import { parseArgs } from "node:util";
import { LOCAL_API_KEY } from "../src/local-api-key.ts";
import { prepareLocalState } from "./local-state.ts";
import { startWrangler } from "./wrangler.ts";

/** wrangler's own default. */
const DEFAULT_PORT = 8787;
const LAST_PORT = DEFAULT_PORT + 20;

const args = process.argv.slice(2);
const { values } = parseArgs({
  args,
  options: { env: { type: "string", short: "e" }, port: { type: "string" }, "persist-to": { type: "string" } },
  strict: false,
});
if (values.env !== undefined) fail("npm run dev is local development; it takes no --env.");

const port = await choosePort();
console.log("Preparing local storage: migrations, API key, first animals ...");
try {
  await prepareLocalState(typeof values["persist-to"] === "string" ? values["persist-to"] : undefined);
} catch (error) {
  fail(
    `${String(error)}\nLocal storage (.wrangler/state, or what --persist-to names) could not be prepared. Is another command writing to it?`,
  );
}

const wrangler = startWrangler(
  [
    "dev",
    // The top level of wrangler.toml, whatever CLOUDFLARE_ENV says.
    "--env=",
    ...(values.port === undefined ? ["--port", String(port)] : []),
    "--show-interactive-dev-session=false",
    ...args,
  ],
  { stdio: ["ignore", "pipe", "inherit"] },
);
for (const signal of ["SIGINT", "SIGTERM"] as const) process.on(signal, () => wrangler.kill(signal));

if (wrangler.stdout) {
  for await (const line of createInterface({ input: wrangler.stdout })) {
    console.log(line);
    const address = /Ready on (https?:\/\/\S+)/.exec(line)?.[1];
    if (address !== undefined) welcome(address);
  }
}
if (wrangler.exitCode === null && wrangler.signalCode === null) await once(wrangler, "exit");
process.exitCode = wrangler.exitCode ?? 0;

function welcome(address: string): void {
  console.log(`
  Base address  ${address}/v1
  API key       ${LOCAL_API_KEY}
  Try it        curl -H 'Authorization: Bearer ${LOCAL_API_KEY}' ${address}/v1/pets
`);
}

/** The port that was asked for, or the first free one from wrangler's default on. */
async function choosePort(): Promise<number> {
  if (values.port !== undefined) {
    const port = Number(values.port);
    if (!Number.isInteger(port) || port < 1 || port > 65_535) fail("A port is a number from 1 to 65535.");
    if (!(await isFree(port))) {
      fail(`Port ${port} is in use. Choose another one: npm run dev -- --port <number>`);
    }
    return port;
  }
  for (let port = DEFAULT_PORT; port <= LAST_PORT; port++) {
    if (await isFree(port)) {
      if (port !== DEFAULT_PORT) console.log(`Port ${DEFAULT_PORT} is in use; taking ${port}.`);
      return port;
    }
  }
  return fail(`Ports ${DEFAULT_PORT} to ${LAST_PORT} are in use. Choose one: npm run dev -- --port <number>`);
}

async function isFree(port: number): Promise<boolean> {
  // Without a host the probe covers IPv4 and IPv6, as "localhost" may be either.
  const server = createServer();
  const outcome = new Promise<boolean>((resolve) => {
    server.once("error", () => resolve(false)).once("listening", () => resolve(true));
  });
  server.listen(port);
  const free = await outcome;
  if (free) await new Promise((resolve) => server.close(resolve));
  return free;
}

function fail(message: string): never {
  console.error(message);
  process.exit(1);
}

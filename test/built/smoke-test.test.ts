import getPort from "get-port";
import { beforeEach, expect, test, vi } from "vitest";
import { smokeTest } from "../../ops/release/smoke-test.ts";
import { serve } from "./serve.ts";

// The pauses between two attempts need not be waited for.
vi.mock("node:timers/promises", () => ({ setTimeout: () => Promise.resolve() }));

const VERSION = "11111111-0000-4000-8000-000000000000";
const OLD = "22222222-0000-4000-8000-000000000000";

async function run(address: URL, options: Partial<Parameters<typeof smokeTest>[0]> = {}) {
  const said: string[] = [];
  const terminal = { print: () => {}, read: async () => "", say: (text: string) => void said.push(text) };
  const failure = await smokeTest({ address, version: VERSION, wait: 0, ...options }, terminal).then(
    () => undefined,
    (error: unknown) => String(error),
  );
  return { said, failure };
}

/** The responses of GET /health, one for each attempt. The last one repeats. */
let healths: { status?: number; body?: object }[] = [];
let stranger = 401;
let address: URL;
beforeEach(async () => {
  const origin = await serve((request, response) => {
    const next = request.url === "/health" && healths.length > 1 ? healths.shift() : healths[0];
    const { status = 200, body = {} } = request.url === "/health" ? (next ?? {}) : { status: stranger };
    response.writeHead(status, { Location: "https://example.com/" }).end(JSON.stringify(body));
  });
  address = new URL(origin);
});
const failed = (problem: string) => `Error: The smoke test of ${address.origin} failed: ${problem}`;

test("an address passes when the new version arrives in time", async () => {
  healths = [404, 404].map((status) => ({ status }));
  healths.push({ body: { deployment: OLD } }, { body: { deployment: VERSION } });
  const { said, failure } = await run(address, { wait: 60 });
  expect(failure).toBeUndefined();
  expect(said[0]).toBe(`\nSmoke test of ${address.origin}, for up to 60 seconds`);
  // A problem that stays is told once.
  expect(said.slice(1, -1)).toEqual([
    "Not yet: GET /health is 404.",
    `Not yet: GET /health is version ${OLD}, not ${VERSION}.`,
  ]);
});

test("an address fails when it serves another version or does not name its version", async () => {
  healths = [{ body: { deployment: OLD } }];
  expect((await run(address)).failure).toBe(failed(`GET /health is version ${OLD}, not ${VERSION}.`));
  expect((await run(address, { mayBeOlder: true })).failure).toContain(OLD);
  healths = [{ body: { status: "ok" } }];
  expect((await run(address)).failure).toBe(failed(`GET /health is version unknown, not ${VERSION}.`));
  expect((await run(address, { mayBeOlder: true })).failure).toBeUndefined();
});

test("an address fails when it redirects, when it accepts requests without a key, and when it cannot be reached", async () => {
  healths = [{ status: 302 }];
  expect((await run(address)).failure).toBe(failed("GET /health is 302."));
  healths = [{ body: { deployment: VERSION } }];
  stranger = 200;
  expect((await run(address)).failure).toBe(failed("GET /v1/pets without a key is 200, not 401."));
  stranger = 401;
  expect((await run(address, { key: "wrong" })).failure).toBe(failed("GET /v1/pets with the key is 401, not 200."));
  const gone = new URL(`http://127.0.0.1:${await getPort()}`);
  expect((await run(gone)).failure).toContain("It cannot be reached:");
});

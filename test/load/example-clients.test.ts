import { execFile, spawnSync } from "node:child_process";
import type { IncomingMessage, RequestListener } from "node:http";
import { beforeAll, describe, expect, type TestContext, test } from "vitest";
import { type FaultName, startChaosProxy } from "./chaos/proxy.ts";
import { grantProductionKey } from "../../scripts/production-service.ts";
import { serve } from "../built/serve.ts";
import { useBuiltService } from "../built/service.ts";

// Tests the programs in examples/clients, which do and print the same in four languages.

interface Example {
  language: string;
  /** The tools that the machine needs. Without them, the tests are skipped. .ci/run installs them. */
  tools: string[];
  run: [command: string, ...args: string[]];
  /** The animal that it adds. */
  animal: string;
}

const EXAMPLES: Example[] = [
  { language: "shell", tools: ["curl", "jq"], run: ["sh", "examples/clients/client.sh"], animal: "Kiki the Kiwi" },
  { language: "JavaScript", tools: [], run: [process.execPath, "examples/clients/client.mjs"], animal: "Juno the Jay" },
  { language: "Python", tools: ["python3"], run: ["python3", "examples/clients/client.py"], animal: "Pia the Python" },
  { language: "Go", tools: ["go"], run: ["go", "run", "examples/clients/client.go"], animal: "Lulu the Lynx" },
];
const isInstalled = (tool: string) => spawnSync("sh", ["-c", `command -v ${tool}`]).status === 0;

/** Milliseconds that a timer may be early. */
const EARLY = 2;

/**
 * A `number` rounds the following ids to this one: they are up to 100 greater, and here a `number` is exact only for every
 * 1,024th integer.
 */
const ROUNDED_ID = 2n ** 62n;
/** More than one page. */
const EARLIER_ANIMALS = `
  WITH RECURSIVE animals (id) AS (SELECT ${ROUNDED_ID - 100n} UNION ALL SELECT id + 1 FROM animals WHERE id < ${ROUNDED_ID})
  INSERT INTO pets (id, name, category_id, status) SELECT id, 'Somebody else', 9007199254740993, 'available' FROM animals`;

const service = useBuiltService();
beforeAll(async () => {
  const { DB } = await service.worker.getEnv();
  await DB.prepare(EARLIER_ANIMALS).run();
});

interface Outcome {
  code: unknown;
  stdout: string;
  stderr: string;
}

function runExample([command, ...args]: Example["run"], base: URL, key: string): Promise<Outcome> {
  const env = { ...process.env, BASE: new URL("/v1", base).href, KEY: key };
  return new Promise((resolve) => {
    execFile(command, args, { env, timeout: 120_000 }, (error, stdout, stderr) => {
      resolve({ code: error === null ? 0 : error.code, stdout, stderr });
    });
  });
}

/** An animal from the database, as the examples print it. */
async function animalsUpTo(id: string): Promise<{ line: string; name: string }[]> {
  const { DB } = await service.worker.getEnv();
  const { results } = await DB.prepare(
    `SELECT name, id || ': ' || name || ', category ' || category_id AS line FROM pets WHERE id <= ${id} ORDER BY id`,
  ).all<{ line: string; name: string }>();
  return results;
}

interface Received {
  /** Milliseconds. */
  at: number;
  key: string | undefined;
}

/** Milliseconds between the requests. */
const pausesOf = (received: Received[]) => received.slice(1).map(({ at }, index) => at - (received[index]?.at ?? 0));

interface Reply {
  status: number;
  code: string;
  retryAfter?: string;
}

/** A service that returns one error for the first request and another for the following ones. */
async function startStub({ onTestFinished }: TestContext, first: Reply, following = first) {
  const received: Received[] = [];
  const listener: RequestListener = (request, response) => {
    const { status, code, retryAfter } = received.length === 0 ? first : following;
    received.push(receive(request));
    response.setHeader("X-Request-Id", "request-7");
    if (retryAfter !== undefined) response.setHeader("Retry-After", retryAfter);
    response.writeHead(status).end(JSON.stringify({ code, message: "Because.", status }));
  };
  return { base: new URL(await serve(listener, onTestFinished)), received };
}

function receive({ headers }: IncomingMessage): Received {
  return { at: performance.now(), key: headers["idempotency-key"] as string | undefined };
}

const FINAL: Reply = { status: 401, code: "unauthorized" };

for (const { language, tools, run, animal } of EXAMPLES) {
  // Concurrent, because they mostly wait.
  describe(`in ${language}`, { concurrent: true, skip: !tools.every(isInstalled) }, () => {
    test("does not print a key that no header can hold", async (context) => {
      const { base, received } = await startStub(context, FINAL);
      const { code, stdout, stderr } = await runExample(run, base, "petstore\nX-Secret: part-of-the-key");
      expect(code).not.toBe(0);
      expect(stdout + stderr).not.toContain("part-of-the-key");
      expect(received).toEqual([]);
    });

    test("adds one animal exactly through a faulty network", async () => {
      const faults: Record<string, FaultName[]> = {
        POST: [
          "connection dropped after the write",
          "503 with Retry-After",
          "429 with Retry-After",
          "HTML with 502 before the request",
        ],
        GET: ["connection dropped before the request", "response that is cut and looks complete"],
      };
      const creations: Received[] = [];
      const bookmarks: unknown[] = [];
      await using proxy = await startChaosProxy(service.url, (request) => {
        if (request.method === "POST") creations.push(receive(request));
        else bookmarks.push(request.headers["x-d1-bookmark"]);
        return faults[request.method ?? ""]?.shift();
      });
      const { code, stdout, stderr } = await runExample(run, proxy.url, await grantProductionKey(service.worker));
      expect(code, stderr).toBe(0);
      expect(faults).toEqual({ POST: [], GET: [] });

      const [added = "", ...rest] = stdout.trim().split("\n");
      const id = /^Added (\d+): /.exec(added)?.[1] ?? "0";
      expect(BigInt(id)).toBeGreaterThan(ROUNDED_ID);
      expect(added).toBe(`Added ${id}: ${animal}, category 9223372036854775807`);
      expect(rest.at(-1)).toBe(added.replace("Added", "Fetched"));
      const stored = await animalsUpTo(id);
      expect(stored.filter(({ name }) => name === animal)).toHaveLength(1);
      expect(stored.length).toBeGreaterThan(101);
      // The other languages may add animals at the same time.
      expect(rest.slice(0, stored.length)).toEqual(stored.map(({ line }) => `Listed ${line}`));

      expect(creations).toHaveLength(5);
      expect(new Set(creations.map(({ key }) => key)).size).toBe(1);
      expect(creations[0]?.key).toMatch(/^[0-9a-f-]{32,36}$/);
      // With the bookmark, the list has the new animal in every location.
      expect(bookmarks).toEqual(bookmarks.map(() => expect.stringMatching(/^[0-9a-f-]{59}$/)));
    });

    test("waits as long as Retry-After says", async (context) => {
      const { base, received } = await startStub(
        context,
        { status: 429, code: "rate_limited", retryAfter: "3" },
        FINAL,
      );
      await runExample(run, base, "key");
      expect(received).toHaveLength(2);
      expect(pausesOf(received)[0]).toBeGreaterThan(3_000);
    });

    test("gives up after six attempts with increasing pauses", async (context) => {
      const { base, received } = await startStub(context, { status: 503, code: "service_unavailable" });
      const { code, stderr } = await runExample(run, base, "key");
      expect(code).toBe(1);
      expect(stderr).toContain("503 service_unavailable: Because. Request id: request-7\n");
      expect(received).toHaveLength(6);
      for (const [index, pause] of pausesOf(received).entries()) {
        // A pause is random, between half of its maximum and its maximum.
        expect(pause).toBeGreaterThan(250 * 2 ** index - EARLY);
      }
    });

    test.for<[kind: string, reply: Reply]>([
      ["that is final", FINAL],
      ["that is a bug of the service", { status: 500, code: "internal_error" }],
      ["that asks for too long a wait", { status: 429, code: "rate_limited", retryAfter: "3600" }],
    ])("shows an error %s, and sends the request once", async ([, reply], context) => {
      const { base, received } = await startStub(context, reply);
      const { code, stderr } = await runExample(run, base, "key");
      expect(code).toBe(1);
      expect(stderr).toContain(`${reply.status} ${reply.code}: Because. Request id: request-7\n`);
      expect(received).toHaveLength(1);
    });
  });
}

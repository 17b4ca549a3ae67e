import { execFile } from "node:child_process";
import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { expect, onTestFinished, test } from "vitest";

// docs/examples/client.mjs against a server that fails in the ways a service and the network between can fail.

const ATTEMPTS = 6;
/** Milliseconds that a timer may be early. */
const EARLY = 2;

interface Received {
  at: number;
  method: string;
  url: string;
  headers: IncomingMessage["headers"];
  body: string;
}

type Answer = (response: ServerResponse) => void;

const reply =
  (status: number, body: string, headers: Record<string, string> = {}): Answer =>
  (response) =>
    response.writeHead(status, { "Content-Type": "application/json", ...headers }).end(body);

const hangUp: Answer = (response) => response.destroy();
const NO_ANIMALS = reply(200, "[]");
const CREATED = reply(201, '{"id":9223372036854775807,"name":"Juno the Jay","categoryId":3,"status":"available"}');

/** A server that gives these answers, the last of them again and again. */
async function serve(...answers: Answer[]): Promise<{ base: string; received: Received[]; close: () => void }> {
  const received: Received[] = [];
  const server = createServer(async (request, response) => {
    const { method = "", url = "", headers } = request;
    received.push({ at: performance.now(), method, url, headers, body: await text(request) });
    const answer = answers.length > 1 ? answers.shift() : answers[0];
    answer?.(response);
  }).listen(0, "127.0.0.1");
  onTestFinished(() => {
    server.close();
  });
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  return { base: `http://127.0.0.1:${port}`, received, close: () => server.close() };
}

interface Outcome {
  code: number | string | null | undefined;
  stdout: string;
  stderr: string;
}

/** @param pause milliseconds before the first retry. */
function runExample(base: string, pause = 1): Promise<Outcome> {
  const args = ["docs/examples/client.mjs", base, "key", String(pause)];
  return new Promise((resolve) => {
    execFile(process.execPath, args, { timeout: 30_000 }, (error, stdout, stderr) => {
      resolve({ code: error === null ? 0 : error.code, stdout, stderr });
    });
  });
}

/** The milliseconds between one request and the next. */
const pauses = (received: Received[]) => received.slice(1).map(({ at }, index) => at - (received[index]?.at ?? 0));

test("a server that stays down is given up, with the reason", async () => {
  const { base, close } = await serve(NO_ANIMALS);
  close();
  const { code, stderr } = await runExample(base);
  expect(code).toBe(1);
  expect(stderr).toContain("ECONNREFUSED");
});

test("a connection that breaks is tried again, later each time", async () => {
  const { base, received } = await serve(hangUp, hangUp, hangUp, NO_ANIMALS, CREATED);
  expect(await runExample(base, 40)).toMatchObject({ code: 0, stderr: "" });
  expect(received).toHaveLength(5);
  for (const [index, pause] of pauses(received).slice(0, 3).entries()) {
    expect(pause).toBeGreaterThan(20 * 2 ** index - EARLY);
  }
});

test.each([
  ["without Retry-After", reply(503, '{"code":"service_unavailable","message":"Later.","status":503}')],
  ["with HTML", reply(503, "<h1>Service Unavailable</h1>", { "Content-Type": "text/html" })],
])("a 503 %s is tried again, and not for ever", async (_form, failure) => {
  const lasting = await serve(failure);
  const { code, stderr } = await runExample(lasting.base);
  expect(code).toBe(1);
  expect(stderr).toContain("Error: 503 ");
  expect(lasting.received).toHaveLength(ATTEMPTS);

  const passing = await serve(failure, NO_ANIMALS, failure, CREATED);
  expect(await runExample(passing.base)).toMatchObject({ code: 0, stderr: "" });
  expect(passing.received).toHaveLength(4);
});

test("Retry-After is respected, up to a bound", async () => {
  const limited = reply(429, '{"code":"rate_limited","message":"Later.","status":429}', { "Retry-After": "3600" });
  const { base, received } = await serve(limited, NO_ANIMALS, CREATED);
  expect(await runExample(base, 5)).toMatchObject({ code: 0, stderr: "" });
  // 60 times the first pause, where a retry without the header would wait 5 at most.
  expect(pauses(received)[0]).toBeGreaterThan(300 - EARLY);
});

test("a request that is wrong is not tried again", async () => {
  const { base, received } = await serve(reply(401, '{"code":"unauthorized","message":"No.","status":401}'));
  const { code, stderr } = await runExample(base);
  expect(code).toBe(1);
  expect(stderr).toContain('Error: 401 {"code":"unauthorized"');
  expect(received).toHaveLength(1);
});

test("integers beyond 2^53 are exact, in responses and in requests", async () => {
  const animals = '[{"id":9007199254740993,"name":"12","categoryId":-9223372036854775808,"status":"sold"}]';
  const { base, received } = await serve(reply(200, animals), CREATED);
  const { stdout } = await runExample(base);
  expect(stdout).toContain("9007199254740993 12\n");
  expect(stdout).toContain('{"id":9223372036854775807,"name":"Juno the Jay","categoryId":3,"status":"available"}');
  expect(received[1]?.body).toBe('{"name":"Juno the Jay","categoryId":4611686018427387905}');
});

test("every page is asked for, with the bookmark of the response before", async () => {
  const next: Answer = (response) =>
    reply(200, '[{"id":1,"name":"Ada"}]', { Link: `<${base}/pets?cursor=x>; rel="next"`, "x-d1-bookmark": "first" })(
      response,
    );
  const { base, received } = await serve(next, reply(200, '[{"id":2,"name":"Bo"}]'), CREATED);
  expect((await runExample(base)).stdout).toContain("1 Ada\n2 Bo\n");
  expect(received.map(({ method, url, headers }) => [method, url, headers["x-d1-bookmark"]])).toEqual([
    ["GET", "/pets?status=available&limit=100", undefined],
    ["GET", "/pets?cursor=x", "first"],
    ["POST", "/pets", "first"],
  ]);
});

test("a creation whose response is lost is sent again with the same Idempotency-Key", async () => {
  const { base, received } = await serve(NO_ANIMALS, hangUp, CREATED);
  expect(await runExample(base)).toMatchObject({ code: 0, stderr: "" });
  const [, first, second] = received;
  expect(first?.headers["idempotency-key"]).toMatch(/^[0-9a-f-]{36}$/);
  expect({ ...second, at: first?.at }).toMatchObject({
    method: "POST",
    body: first?.body,
    headers: { "idempotency-key": first?.headers["idempotency-key"] },
  });
});

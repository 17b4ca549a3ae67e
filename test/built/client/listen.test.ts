import { spawn } from "node:child_process";
import { once } from "node:events";
import type { IncomingHttpHeaders } from "node:http";
import { buffer } from "node:stream/consumers";
import { createInterface } from "node:readline";
import getPort from "get-port";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { eventsIn } from "../../../client/src/command/page.ts";
import { verifyWebhook } from "../../../client/src/index.ts";
import { serve } from "../serve.ts";
import { useBuiltService } from "../service.ts";

const SECRET = "whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=";
/** Milliseconds in which events arrive, also on a busy machine. */
const TIMEOUT = 60_000;

const service = useBuiltService();

const send = async (method: string, path: string, body?: object) => {
  const headers = { Authorization: `Bearer ${service.key}`, "Content-Type": "application/json" };
  const request = { method, headers, ...(body && { body: JSON.stringify(body) }) };
  return fetch(new URL(`/v1${path}`, service.url), request);
};

async function startReceiver(answer: (type: string) => number = () => 204) {
  const received: { headers: IncomingHttpHeaders; body: Buffer; type: string; version: number }[] = [];
  const origin = await serve(async (request, response) => {
    const body = await buffer(request);
    const { type, version } = JSON.parse(String(body)) as { type: string; version: number };
    received.push({ headers: request.headers, body, type, version });
    // Nobody may follow a redirect to there.
    response.writeHead(answer(type), { Location: "http://127.0.0.1:1/" }).end();
  });
  return { received, address: `${origin.replace("127.0.0.1", "localhost")}/hook` };
}

/** Runs the command as it is installed, but for the build. */
function petstore(args: string[], env: { [name: string]: string | undefined } = {}) {
  const command = spawn(process.execPath, ["client/src/command/petstore.ts", ...args], {
    env: { ...process.env, PETSTORE_API_KEY: service.key, ...env },
  });
  const lines: string[] = [];
  createInterface(command.stdout).on("line", (line) => lines.push(line));
  createInterface(command.stderr).on("line", (line) => lines.push(line));
  const closed = once(command, "close").then(([code]) => code as number | null);
  onTestFinished(async () => {
    command.kill("SIGKILL");
    await closed;
  });
  return { lines, closed };
}

/** Runs `listen` until it follows the feed. */
async function listen(receiver: string, ...more: string[]) {
  const base = `${service.url.origin}/v1`;
  const running = petstore(["listen", "--base", base, "--forward-to", receiver, ...more]);
  await vi.waitFor(() => expect(running.lines.join("\n")).toContain("Forwarding what follows"), TIMEOUT);
  return running;
}

// Promise: listen-follows, listen-signs
test("forwards each event as the feed has it, signed with the secret that it prints", async () => {
  const { received, address } = await startReceiver();
  const { lines } = await listen(address);
  const [, secret = ""] = /^The secret is (whsec_\S+)$/.exec(lines[0] ?? "") ?? [];
  const { cursor } = (await (await send("GET", "/events?cursor=latest")).json()) as { cursor: string };
  const name = 'Zoë 🐕 "[{\\"events\\":[{}]}]" \u0001\u007f\u2028\t/\\';
  await send("POST", "/pets", { name, categoryId: 7 });
  await send("POST", "/pets/batch", [{ name: "Max", categoryId: 7 }]);
  const isComplete = () => expect(received.map(({ type }) => type)).toEqual(["pet.created", "pet.created"]);
  await vi.waitFor(isComplete, TIMEOUT);

  const page = await (await send("GET", `/events?cursor=${cursor}`)).text();
  // Events of different resources have no order.
  expect(page).toBe(
    `{"events":[${received
      .map(({ body }) => String(body))
      .toSorted()
      .join()}],${page.slice(page.indexOf('"cursor"'))}`,
  );
  for (const { headers, body } of received) {
    const event = await verifyWebhook(body, headers, secret);
    expect([headers["webhook-id"], headers["content-type"], headers["user-agent"]]).toEqual([
      event.id,
      "application/json",
      "PetStore-Webhooks/1",
    ]);
  }
  await vi.waitFor(() => expect(lines.filter((line) => line.startsWith("204 pet.created evt_"))).toHaveLength(2));
});

// Promise: listen-from, listen-types
test("starts at a cursor, and forwards only the types that it is told", async () => {
  const { received, address } = await startReceiver();
  const { cursor } = (await (await send("GET", "/events?cursor=latest")).json()) as { cursor: string };
  await send("POST", "/pets", { name: "Rex", categoryId: 7 });
  await send("POST", "/categories", { name: crypto.randomUUID() });
  const more = ["--from", cursor, "--type", "category.created", "--type", "category.deleted", "--secret", SECRET];
  await listen(address, ...more);
  await vi.waitFor(() => expect(received).toHaveLength(1), TIMEOUT);
  const [{ headers, body } = expect.unreachable()] = received;
  expect(await verifyWebhook(body, headers, SECRET)).toMatchObject({ type: "category.created", version: 1 });
});

// Promise: listen-repeats
test("repeats what fails, keeps the order of its resource, and goes on with the others", async () => {
  let refusals = 1;
  const { received, address } = await startReceiver((type) => (type === "pet.created" && refusals-- > 0 ? 500 : 204));
  const { lines } = await listen(address);
  const response = await send("POST", "/pets", { name: "Rex", categoryId: 7 });
  const { id } = (await response.json()) as { id: number };
  await send("PATCH", `/pets/${id}`, { name: "Max" });
  await send("POST", "/categories", { name: crypto.randomUUID() });
  await vi.waitFor(() => expect(received).toHaveLength(4), TIMEOUT);
  const own = received.filter(({ type }) => type.startsWith("pet."));
  expect(own.map(({ type, version }) => `${type} ${version}`)).toEqual([
    "pet.created 1",
    "pet.created 1",
    "pet.updated 2",
  ]);
  await vi.waitFor(() => expect(lines.join("\n")).toMatch(/^500 pet\.created evt_\w+ \d+ ms, again in 1 s$/m));
});

// Promise: listen-repeats
test("gives up after four attempts, and says why", async () => {
  const { address } = await startReceiver(() => 503);
  const { lines } = await listen(address);
  await send("POST", "/pets", { name: "Rex", categoryId: 7 });
  await vi.waitFor(() => expect(lines.at(-1)).toMatch(/^503 pet\.created evt_\w+ \d+ ms, given up$/), TIMEOUT);
  expect(lines.filter((line) => line.startsWith("503 "))).toHaveLength(4);
});

test("tells of a receiver that is not there, and of a redirect", async () => {
  const { received, address } = await startReceiver(() => 307);
  const [one, other] = [await listen(address), await listen(`http://127.0.0.1:${await getPort()}/`)];
  await send("POST", "/pets", { name: "Rex", categoryId: 7 });
  await vi.waitFor(() => expect(one.lines.join("\n")).toMatch(/^307 pet\.created .*, again in 1 s$/m), TIMEOUT);
  await vi.waitFor(() => expect(other.lines.join("\n")).toMatch(/^ECONNREFUSED pet\.created .*, again/m), TIMEOUT);
  expect(received.length).toBeGreaterThan(0);
});

// Promise: listen-resets
test("sends a feed.reset when the feed no longer has the place", async () => {
  const { received, address } = await startReceiver();
  await send("POST", "/pets", { name: "Rex", categoryId: 7 });
  const { cursor } = (await (await send("GET", "/events?cursor=latest")).json()) as { cursor: string };
  const { DB } = await service.worker.getEnv();
  await DB.exec("UPDATE events SET tag = tag + 1 WHERE id = (SELECT max(id) FROM events)");
  await listen(address, "--from", cursor, "--secret", SECRET);
  await vi.waitFor(() => expect(received).toHaveLength(1), TIMEOUT);
  const [{ headers, body } = expect.unreachable()] = received;
  const now = (await (await send("GET", "/events?cursor=latest")).json()) as { cursor: string };
  expect(await verifyWebhook(body, headers, SECRET)).toEqual({
    id: expect.stringMatching(/^msg_[0-9A-Za-z_-]{22}$/),
    type: "feed.reset",
    timestamp: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
    data: { cursor: now.cursor, bookmark: expect.stringMatching(/^[0-9a-f]{8}-[0-9a-f]{8}-[0-9a-f]{8}-[0-9a-f]{32}$/) },
  });
});

describe("the command", () => {
  const BASE = ["--base", "https://petstore.example/v1"];
  const HERE = ["--forward-to", "http://localhost:3000/hook"];
  // Promise: listen-is-local
  test.each([
    [[], "The command is listen."],
    [["list", ...BASE, ...HERE], "The command is listen."],
    [["listen", ...HERE], "--base is missing."],
    [["listen", ...BASE], "--forward-to has to be an address"],
    [["listen", ...BASE, "--forward-to", "ftp://localhost/"], "--forward-to has to be an address"],
    [["listen", ...BASE, "--forward-to", "https://hooks.shop.com/"], "hooks.shop.com is not this machine."],
    [["listen", ...BASE, "--forward-to", "http://localhost.shop.com/"], "localhost.shop.com is not this machine."],
    [["listen", ...BASE, "--forward-to", "http://127.0.0.1.shop.com/"], "127.0.0.1.shop.com is not this machine."],
    [["listen", ...BASE, "--forward-to", "http://0.0.0.0/"], "0.0.0.0 is not this machine."],
    [["listen", ...BASE, "--forward-to", "http://192.168.0.1/"], "192.168.0.1 is not this machine."],
    [["listen", ...BASE, "--forward-to", "http://[::2]/"], "[::2] is not this machine."],
    [["listen", ...BASE, ...HERE, "--secret", "whsec_short"], "--secret has to be"],
    [["listen", ...BASE, ...HERE, "--colour"], "Unknown option '--colour'"],
    [["listen", "--base", "petstore", ...HERE], "baseUrl has to be an address"],
  ])("is refused: %j", async (args, message) => {
    const { lines, closed } = petstore(args);
    expect(await closed).toBe(2);
    expect(lines[0]).toContain(message);
    expect(lines.join("\n")).toContain("Usage: petstore listen");
  });

  // Promise: listen-follows
  test("needs a key", async () => {
    const { lines, closed } = petstore(["listen", ...BASE, ...HERE], { PETSTORE_API_KEY: undefined });
    expect([await closed, lines[0]]).toEqual([2, "Set PETSTORE_API_KEY, or give --key."]);
  });

  test("prints its usage", async () => {
    const { lines, closed } = petstore(["--help"]);
    expect([await closed, lines[0]?.slice(0, 22)]).toEqual([0, "Usage: petstore listen"]);
  });

  test("ends when the service refuses the key, and does not show it", async () => {
    const base = ["--base", `${service.url.origin}/v1`];
    const key = `${service.key.slice(0, -1)}x`;
    const { lines, closed } = petstore(["listen", ...base, ...HERE, "--key", key]);
    expect(await closed).toBe(1);
    expect(lines.at(-1)).toMatch(/^unauthorized: /);
    expect(lines.join("\n")).not.toContain(key);
  });

  // Promise: listen-is-local
  test("forwards to another machine when it is told to", async () => {
    const base = ["--base", `${service.url.origin}/v1`];
    const { lines } = petstore(["listen", ...base, "--forward-to", "http://[::ffff:7f00:1]:1/", "--allow-remote"]);
    await vi.waitFor(() => expect(lines.join("\n")).toContain("to http://[::ffff:7f00:1]:1/."), TIMEOUT);
  });
});

describe("the events of a page", () => {
  test("are the texts of the items of its field only", () => {
    const first = '{"id":"evt_1","data":{"id":9223372036854775807,"tags":[{"id":1}],"name":"]}\\\\"}}';
    const second = '{ "id" : "evt_2", "data": {"name":"\\"events\\":[{"}, "more":1.0 }';
    const page = `{"other":[{"id":"evt_0"}],"events":[${first},${second}],"cursor":"events","later":[{"id":"evt_3"}]}`;
    expect(eventsIn(page)).toEqual([
      ["evt_1", first],
      ["evt_2", second],
    ]);
  });

  test.each(["", "{}", '{"events":[]}', "[[{}]]", '{"events":[{"id":"evt_1"', '{"events":[{"id":"\\"\\"', "<html>"])(
    "are none in %j",
    (page) => {
      expect(eventsIn(page)).toEqual([]);
    },
  );
});

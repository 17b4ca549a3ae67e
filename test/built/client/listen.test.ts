import { spawn } from "node:child_process";
import { once } from "node:events";
import type { IncomingHttpHeaders } from "node:http";
import { fileURLToPath } from "node:url";
import { buffer } from "node:stream/consumers";
import { createInterface } from "node:readline";
import getPort from "get-port";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { Receiver } from "../../../client/src/command/receiver.ts";
import { eventsIn } from "../../../client/src/command/page.ts";
import { verifyWebhook } from "../../../client/src/index.ts";
import { serve } from "../serve.ts";
import { useBuiltService } from "../service.ts";

const SECRET = "whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=";
const PROGRAM = new URL("../../../client/src/command/petstore.ts", import.meta.url).href;

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

/** Runs the command as it is installed, but for the build, until it follows the feed. Returns the lines that it prints. */
async function listen(receiver: string, ...more: string[]): Promise<string[]> {
  const own = ["listen", "--base", `${service.url.origin}/v1`, "--forward-to", receiver];
  const env = { ...process.env, PETSTORE_API_KEY: service.key };
  // With the shortest pauses.
  const shortest = ["--import", "data:text/javascript,Math.random=()=>0"];
  const command = spawn(process.execPath, [...shortest, fileURLToPath(PROGRAM), ...own, ...more], { env });
  const lines: string[] = [];
  createInterface(command.stdout).on("line", (line) => lines.push(line));
  const closed = once(command, "close");
  onTestFinished(async () => {
    command.kill("SIGKILL");
    await closed;
  });
  await expect.poll(() => lines.join("\n")).toContain("Forwarding what follows");
  return lines;
}

/** Runs a command that ends, in this process. Returns its exit code and the lines that it prints. */
async function run(args: string[], key?: string) {
  vi.stubEnv("PETSTORE_API_KEY", key);
  const printed: string[] = [];
  const print = (text: string) => void printed.push(text);
  const spies = [
    vi.spyOn(process, "argv", "get").mockReturnValue(["node", "petstore", ...args]),
    ...(["log", "error"] as const).map((name) => vi.spyOn(console, name).mockImplementation(print)),
  ];
  try {
    // Each time anew.
    await import(`${PROGRAM}?${crypto.randomUUID()}`);
    return { code: process.exitCode, lines: printed.join("\n").split("\n") };
  } finally {
    process.exitCode = undefined;
    for (const spy of spies) spy.mockRestore();
    vi.unstubAllEnvs();
  }
}

// Promise: listen-follows, listen-signs
test("forwards each event as the feed has it, signed with the secret that it prints", async () => {
  const { received, address } = await startReceiver();
  const lines = await listen(address);
  const [, secret = ""] = /^The secret is (whsec_\S+)$/.exec(lines[0] ?? "") ?? [];
  const { cursor } = (await (await send("GET", "/events?cursor=latest")).json()) as { cursor: string };
  const name = 'Zoë 🐕 "[{\\"events\\":[{}]}]" \u0001\u007f\u2028\t/\\';
  await send("POST", "/pets", { name, categoryId: 7 });
  await send("POST", "/pets/batch", [{ name: "Max", categoryId: 7 }]);
  await expect.poll(() => received.map(({ type }) => type)).toEqual(["pet.created", "pet.created"]);

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
  await expect.poll(() => lines.filter((line) => line.startsWith("204 pet.created evt_"))).toHaveLength(2);
});

// Promise: listen-from, listen-types, listen-is-local
test("starts at a cursor, and forwards only the types that it is told", async () => {
  const { received, address } = await startReceiver();
  const { cursor } = (await (await send("GET", "/events?cursor=latest")).json()) as { cursor: string };
  await send("POST", "/pets", { name: "Rex", categoryId: 7 });
  await send("POST", "/categories", { name: crypto.randomUUID() });
  const more = ["--from", cursor, "--type", "category.created", "--type", "category.deleted", "--secret", SECRET];
  // Of another machine, as far as the command knows.
  await listen(address.replace("localhost", "0.0.0.0"), ...more, "--allow-remote");
  await expect.poll(() => received).toHaveLength(1);
  const [{ headers, body } = expect.unreachable()] = received;
  expect(await verifyWebhook(body, headers, SECRET)).toMatchObject({ type: "category.created", version: 1 });
});

// Promise: listen-repeats
test("repeats what fails, keeps the order of its resource, and goes on with the others", async () => {
  let refusals = 1;
  const { received, address } = await startReceiver((type) => (type === "pet.created" && refusals-- > 0 ? 500 : 204));
  const lines = await listen(address);
  const response = await send("POST", "/pets", { name: "Rex", categoryId: 7 });
  const { id } = (await response.json()) as { id: number };
  await send("PATCH", `/pets/${id}`, { name: "Max" });
  await send("POST", "/categories", { name: crypto.randomUUID() });
  await expect.poll(() => received).toHaveLength(4);
  const own = received.filter(({ type }) => type.startsWith("pet."));
  expect(own.map(({ type, version }) => `${type} ${version}`)).toEqual([
    "pet.created 1",
    "pet.created 1",
    "pet.updated 2",
  ]);
  await expect.poll(() => lines.join("\n")).toMatch(/^500 pet\.created evt_\w+ \d+ ms, again in 1 s$/m);
});

// Promise: listen-repeats
test.each([
  [500, "500"],
  [307, "307"],
  [undefined, "ECONNREFUSED"],
])("gives up after four attempts, and says why: %s", async (status, reason) => {
  const { received, address } = await startReceiver(() => status ?? 204);
  const [lines, pauses]: [string[], number[]] = [[], []];
  const pause = async (milliseconds = 0) => void pauses.push(milliseconds);
  const url = status === undefined ? `http://127.0.0.1:${await getPort()}/` : address;
  const receiver = new Receiver(new URL(url), SECRET, (line) => lines.push(line), pause);
  await receiver.deliver("evt_1", "pet.created", '{"type":"pet.created","version":1}');
  expect(pauses).toEqual([0, 1_000, 2_000, 4_000]);
  expect(received).toHaveLength(status === undefined ? 0 : 4);
  const ends = [", again in 1 s", ", again in 2 s", ", again in 4 s", ", given up"];
  expect(lines.map((line) => line.replace(/\d+ ms/, "0 ms"))).toEqual(
    ends.map((end) => `${reason} pet.created evt_1 0 ms${end}`),
  );
});

test("has six attempts at once, and the others follow", async () => {
  const held: (() => void)[] = [];
  const origin = await serve((_request, response) => void held.push(() => response.writeHead(204).end()));
  const receiver = new Receiver(new URL(origin), SECRET, () => {});
  const delivered = Promise.all(
    Array.from({ length: 14 }, (_, i) => receiver.deliver(`evt_${i}`, "pet.created", "{}")),
  );
  for (const count of [6, 6, 2]) {
    await expect.poll(() => held).toHaveLength(count);
    for (const answer of held.splice(0)) answer();
  }
  await delivered;
});

// Promise: listen-resets
test("sends a feed.reset when the feed no longer has the place", async () => {
  const { received, address } = await startReceiver();
  await send("POST", "/pets", { name: "Rex", categoryId: 7 });
  const { cursor } = (await (await send("GET", "/events?cursor=latest")).json()) as { cursor: string };
  const { DB } = await service.worker.getEnv();
  await DB.exec("UPDATE events SET tag = tag + 1 WHERE id = (SELECT max(id) FROM events)");
  await listen(address, "--from", cursor, "--secret", SECRET);
  await expect.poll(() => received).toHaveLength(1);
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
    [["listen", ...BASE, ...HERE], "Set PETSTORE_API_KEY, or give --key."],
  ])("is refused: %j", async (args, message) => {
    const { code, lines } = await run(args, message.includes("API_KEY") ? undefined : "key");
    expect([code, lines[0]]).toEqual([2, expect.stringContaining(message)]);
    expect(lines.join("\n")).toContain("Usage: petstore listen");
  });

  test("prints its usage", async () => {
    const { code, lines } = await run(["--help"]);
    expect([code, lines[0]?.slice(0, 22)]).toEqual([undefined, "Usage: petstore listen"]);
  });

  test("ends when the service refuses the key, and does not show it", async () => {
    const key = `${service.key.slice(0, -1)}x`;
    const { code, lines } = await run(["listen", "--base", `${service.url.origin}/v1`, ...HERE, "--key", key]);
    expect([code, lines.at(-1)]).toEqual([1, expect.stringMatching(/^unauthorized: /)]);
    expect(lines.join("\n")).not.toContain(key);
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

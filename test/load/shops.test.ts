import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { copyFileSync, existsSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import getPort from "get-port";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { startChaosProxy } from "./chaos/proxy.ts";
import { startWrangler } from "../../scripts/wrangler.ts";
import { link, newProject } from "../built/project.ts";
import { type BuiltService, startBuiltService } from "../built/service.ts";

// The shop fronts in examples/, as processes: one in workerd under `wrangler dev`, one in Node.js with the packed client.

/** Starts a shop on a port, with the address of the API and the API key in its environment. */
type Start = (port: number, env: NodeJS.ProcessEnv) => ChildProcess;

let project: string;

const inNode =
  (node: string): Start =>
  (port, env) =>
    spawn(node, [join(project, "shop.mjs")], { env: { ...env, PORT: String(port) } });

const inWorkerd: Start = (port, env) =>
  startWrangler(["dev", "--config", "examples/shop-worker/wrangler.toml", "--port", String(port)], { env });

/** The Node.js of the machine may be the oldest that the client supports. */
const MACHINE_NODE = "/usr/bin/node";

const SHOPS: [name: string, start: Start][] = [
  ["in workerd", inWorkerd],
  ["in Node.js", inNode(process.execPath)],
  ...(existsSync(MACHINE_NODE) ? [["in the Node.js of the machine", inNode(MACHINE_NODE)] as [string, Start]] : []),
];

const NAME = `<b>"Tom" & 'Jerry'</b>`;
const ESCAPED_NAME = "&lt;b&gt;&quot;Tom&quot; &amp; &#39;Jerry&#39;&lt;/b&gt;";
/** A `number` rounds it to the one below. */
const ID = "9007199254740993";

let service: BuiltService;
beforeAll(async () => {
  service = await startBuiltService();
  project = newProject();
  link(project, "hono");
  copyFileSync("examples/shop-node/shop.mjs", join(project, "shop.mjs"));
});
afterAll(async () => {
  await service.harness.close();
  rmSync(project, { recursive: true });
});

/** Empties the store, and puts 44 animals into it, with the one of that name in the middle. */
async function stock(): Promise<void> {
  const { DB } = await service.worker.getEnv();
  const animal = "INSERT INTO pets (id, name, category_id, status)";
  await DB.batch(
    [
      "DELETE FROM orders",
      "DELETE FROM pets",
      `WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 22) ${animal} SELECT i, 'Ada', 1, 'available' FROM n`,
      `${animal} VALUES (${ID}, '${NAME.replaceAll("'", "''")}', 1, 'available')`,
      `${animal} VALUES (9007199254740992, 'Rounded', 1, 'sold')`,
      `WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 21) ${animal} SELECT ${ID} + i, 'Bo', 1, 'available' FROM n`,
    ].map((sql) => DB.prepare(sql)),
  );
}

async function ordersOf(id: string): Promise<string[]> {
  const { DB } = await service.worker.getEnv();
  const { results } = await DB.prepare(`SELECT CAST(id AS TEXT) AS id FROM orders WHERE pet_id = ${id}`).all<{
    id: string;
  }>();
  return results.map(({ id }) => id);
}

interface Page {
  status: number;
  html: string;
  headers: Headers;
}

interface Shop {
  visit(path: string, form?: URLSearchParams): Promise<Page>;
}

/** Opens a shop that reaches the API at an address, until the test ends. */
async function open(start: Start, api: URL): Promise<Shop> {
  const port = await getPort();
  const child = start(port, { ...process.env, BASE: new URL("/v1", api).href, KEY: service.key });
  for (const output of [child.stdout, child.stderr]) output?.on("data", (text: Buffer) => console.log(String(text)));
  onTestFinished(async () => {
    if (!child.kill()) return;
    await once(child, "exit");
  });
  const visit: Shop["visit"] = async (path, form) => {
    const response = await fetch(`http://127.0.0.1:${port}${path}`, form && { method: "POST", body: form });
    const page = { status: response.status, headers: response.headers, html: await response.text() };
    // No page tells the API key, nor how the shop works.
    expect(page.html).not.toContain(service.key);
    expect(page.html).not.toMatch(/PetStoreError|pet_not_available|Idempotency/);
    return page;
  };
  await expect.poll(() => visit("/nothing").then(({ status }) => status, String), { timeout: 100_000 }).toBe(404);
  return { visit };
}

const linksOf = ({ html }: Page) =>
  [...html.matchAll(/<a href="([^"]+)">([^<]+)</g)].map(([, to = "", text = ""]) => ({ to, text }));

/** What the form of a page sends. */
function formOf({ html }: Page): URLSearchParams {
  const inputs = [...html.matchAll(/<input type="hidden" name="(\w+)" value="([^"]+)" \/>/g)];
  return new URLSearchParams(inputs.map(([, name = "", value = ""]) => [name, value]));
}

/** The links to the animals on all pages of the list. */
async function listAnimals(shop: Shop): Promise<{ to: string; text: string }[]> {
  const animals: { to: string; text: string }[] = [];
  let next: string | undefined = "/";
  while (next !== undefined) {
    const links = linksOf(await shop.visit(next));
    next = links.find(({ text }) => text === "More animals")?.to;
    animals.push(...links.filter(({ to }) => to.startsWith("/animal")));
  }
  return animals;
}

describe.each(SHOPS)("the shop %s", (_runtime, start) => {
  test("lists every available animal, shows one and sells it once, also to a visitor who clicks twice", async () => {
    await stock();
    // The response to the first order does not arrive.
    let lost = false;
    const proxy = await startChaosProxy(
      service.url,
      ({ method }) => {
        if (method !== "POST" || lost) return undefined;
        lost = true;
        return "connection dropped after the write";
      },
      0,
    );
    onTestFinished(() => proxy.close());
    const shop = await open(start, proxy.url);

    const animals = await listAnimals(shop);
    expect(animals).toHaveLength(44);
    expect(new Set(animals.map(({ to }) => to)).size).toBe(44);
    const path = animals.find(({ text }) => text === ESCAPED_NAME)?.to ?? "";
    expect(path).toMatch(new RegExp(`\\D${ID}$`));

    const [first, second] = [await shop.visit(path), await shop.visit(path)];
    expect(first.headers.get("Cache-Control")).toBe("no-store");
    expect(first.html).toContain(ESCAPED_NAME);
    expect(first.html).not.toContain(NAME);
    const [form, other] = [formOf(first), formOf(second)];
    expect(form.get("animal")).toBe(ID);
    expect(form.get("key")).not.toBe(other.get("key"));

    const clicks = await Promise.all([shop.visit("/orders", form), shop.visit("/orders", form)]);
    expect(lost).toBe(true);
    const orders = await ordersOf(ID);
    expect(orders).toHaveLength(1);
    for (const { status, html } of clicks) {
      expect(status).toBe(200);
      expect(html).toContain(`Your order has the number ${orders[0]}.`);
    }

    const late = await shop.visit("/orders", other);
    expect(late.status).toBe(409);
    expect(late.html).toContain("Somebody else was faster");
    expect((await shop.visit(path)).html).toContain("not for sale");
    expect(await listAnimals(shop)).toEqual(animals.filter(({ to }) => to !== path));
    expect(await ordersOf(ID)).toEqual(orders);
  });

  test("has no page for what is not there", async () => {
    await stock();
    const shop = await open(start, service.url);
    const [animal] = await listAnimals(shop);
    for (const id of ["12345", "9223372036854775808", "x", "%3Cb%3E"]) {
      expect((await shop.visit(animal?.to.replace(/\d+$/, id) ?? "")).status, id).toBe(404);
    }
    for (const fields of [{}, { animal: "x", key: "k" }, { animal: "12345678901234567890", key: "k" }]) {
      expect((await shop.visit("/orders", new URLSearchParams(fields))).status).toBe(404);
    }
  });

  test("asks visitors to come back when the service does not respond", async () => {
    const shop = await open(start, new URL(`http://127.0.0.1:${await getPort()}`));
    const { status, html } = await shop.visit("/");
    expect(status).toBe(503);
    expect(html).toContain("Please try again later");
  });
});

test("the README of the service shows a part of the shop in workerd", () => {
  const code = /```ts\n(.*?)```/s.exec(readFileSync("README.md", "utf8"))?.[1];
  expect(code).toBeDefined();
  expect(readFileSync("examples/shop-worker/shop.ts", "utf8")).toContain(code);
});

test.each(["examples/shop-worker/shop.ts", "examples/shop-node/shop.mjs"])("%s has fewer than 60 lines", (file) => {
  expect(readFileSync(file, "utf8").trimEnd().split("\n").length).toBeLessThan(60);
});

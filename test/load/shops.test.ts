import { existsSync } from "node:fs";
import getPort from "get-port";
import { describe, expect, onTestFinished, test } from "vitest";
import { grantProductionKey } from "../../scripts/production-service.ts";
import { generateKey } from "../../src/auth/key-format.ts";
import { startChaosProxy } from "./chaos/proxy.ts";
import { useBuiltService } from "../built/service.ts";
import { inNode, inWorkerd, type ShopFront, type Start, startShop } from "../built/shop-fronts.ts";

/** The machine's Node.js may be the oldest version that the client supports. */
const MACHINE_NODE = "/usr/bin/node";

const SHOPS: [name: string, start: Start][] = [
  ["in workerd", inWorkerd],
  ["in Node.js", inNode(process.execPath)],
  ...(existsSync(MACHINE_NODE) ? [["in the Node.js of the machine", inNode(MACHINE_NODE)] as [string, Start]] : []),
];

const NAME = `<b>"Tom" & 'Jerry'</b>`;
const ESCAPED_NAME = "&lt;b&gt;&quot;Tom&quot; &amp; &#39;Jerry&#39;&lt;/b&gt;";
/** A `number` rounds it down by one. */
const ID = "9007199254740993";

const service = useBuiltService();

/** Empties the store and adds 44 animals, with the one of that name in the middle. */
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

async function ordersOf(id: string): Promise<unknown[]> {
  const { DB } = await service.worker.getEnv();
  return (await DB.prepare(`SELECT CAST(id AS TEXT) FROM orders WHERE pet_id = ${id}`).raw()).flat();
}

interface Page {
  status: number;
  html: string;
  headers: Headers;
}

interface Shop extends ShopFront {
  /** @param init the request. By default, a form has the headers of a page of the shop. */
  visit(path: string, form?: URLSearchParams, init?: RequestInit): Promise<Page>;
}

async function run(start: Start, api: URL, key: string): Promise<Shop> {
  const { origin, log } = await startShop(start, api, key);
  const visit: Shop["visit"] = async (path, form, init) => {
    const request = form && { method: "POST", body: form, headers: { Origin: origin } };
    const response = await fetch(`${origin}${path}`, { ...request, ...init });
    const page = { status: response.status, headers: response.headers, html: await response.text() };
    // No page reveals the API key or the implementation of the shop. No other site may frame a page.
    expect(page.html).not.toContain(key);
    expect(page.html).not.toMatch(/PetStoreError|pet_not_available|Idempotency/);
    expect(page.headers.get("Content-Security-Policy")).toBe(
      "default-src 'none'; form-action 'self'; frame-ancestors 'none'",
    );
    // With "no-referrer", a browser sends the form of the shop with `Origin: null`.
    expect(page.headers.get("Referrer-Policy")).toBe("same-origin");
    expect(page.headers.get("X-Content-Type-Options")).toBe("nosniff");
    return page;
  };
  return { origin, log, visit };
}

/** Opens a shop that reaches the API at an address, until the test ends. The shop must not log its key. */
async function open(start: Start, api: URL): Promise<Shop> {
  // The least that a shop needs.
  const key = await grantProductionKey(service.worker, generateKey("production"), ["pets:read", "orders:place"]);
  const shop = await run(start, api, key);
  onTestFinished(() => expect(shop.log.join("")).not.toContain(key));
  await expect.poll(() => shop.visit("/nothing").then(({ status }) => status, String), { timeout: 100_000 }).toBe(404);
  return shop;
}

const linksOf = ({ html }: Page) =>
  [...html.matchAll(/<a href="([^"]+)">([^<]+)</g)].map(([, to = "", text = ""]) => ({ to, text }));

function formOf({ html }: Page): URLSearchParams {
  const inputs = [...html.matchAll(/<input type="hidden" name="(\w+)" value="([^"]+)" \/>/g)];
  return new URLSearchParams(inputs.map(([, name = "", value = ""]) => [name, value]));
}

/** The links to the animals on all pages of the list, or of a search. */
async function listAnimals(shop: Shop, first = "/"): Promise<{ to: string; text: string }[]> {
  const animals: { to: string; text: string }[] = [];
  let next: string | undefined = first;
  while (next !== undefined) {
    const links = linksOf(await shop.visit(next));
    next = links.find(({ text }) => text === "More animals")?.to;
    animals.push(...links.filter(({ to }) => to.startsWith("/animal")));
  }
  return animals;
}

describe.each(SHOPS)("the shop %s", (_runtime, start) => {
  // Promise: shops-sell-once, shops-take-double-clicks
  test("lists every available animal, shows one, and sells it once even if the visitor clicks twice", async () => {
    await stock();
    // The response to the first order does not arrive.
    let lost = false;
    await using proxy = await startChaosProxy(service.url, ({ method }) => {
      if (method !== "POST" || lost) return undefined;
      lost = true;
      return "connection dropped after the write";
    });
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
      expect(html).toContain(`Your order has the number ${String(orders[0])}.`);
    }

    const late = await shop.visit("/orders", other);
    expect(late.status).toBe(409);
    expect(late.html).toContain("Somebody else was faster");
    expect((await shop.visit(path)).html).toContain("not for sale");
    expect(await listAnimals(shop)).toEqual(animals.filter(({ to }) => to !== path));
    expect(await ordersOf(ID)).toEqual(orders);
  });

  // Promise: shops-search
  test("finds animals by their names, also behind pages that are empty", async () => {
    await stock();
    const shop = await open(start, service.url);
    expect(await listAnimals(shop, "/?q=")).toHaveLength(44);
    const ada = await listAnimals(shop, "/?q=ADÁ");
    expect(ada.map(({ text }) => text)).toEqual(Array.from({ length: 22 }, () => "Ada"));
    expect((await listAnimals(shop, "/?q=jerry%20%26%20tom")).map(({ text }) => text)).toEqual([ESCAPED_NAME]);

    const { html } = await shop.visit(`/?q=${encodeURIComponent(`"><b>'${NAME.slice(0, 5)}`)}`);
    expect(html).not.toMatch(/"><b>|'<b>/);
    for (const q of ["!", "☃", "x".repeat(65), "a b c d e f"])
      expect(await listAnimals(shop, `/?q=${encodeURIComponent(q)}`), q).toEqual([]);
    expect((await shop.visit(`/?q=${"x".repeat(256)}`)).status).toBe(404);

    const { DB } = await service.worker.getEnv();
    await DB.prepare(
      `WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 2500)
       INSERT INTO pets (id, name, category_id, status) SELECT 100 + i, 'Ö', 1, 'available' FROM n`,
    ).run();
    // Ten requests are not enough.
    expect(linksOf(await shop.visit("/?q=jerry")).map(({ text }) => text)).toEqual(["More animals", "All animals"]);
    expect((await listAnimals(shop, "/?q=jerry")).map(({ text }) => text)).toEqual([ESCAPED_NAME]);
  });

  test("responds with 404 for what does not exist or is invalid, and keeps working", async () => {
    await stock();
    const shop = await open(start, service.url);
    const [animal] = await listAnimals(shop);
    for (const id of ["12345", "9223372036854775808", "x", "%3Cb%3E"]) {
      expect((await shop.visit(animal?.to.replace(/\d+$/, id) ?? "")).status, id).toBe(404);
    }
    for (const cursor of ["bad", "", "☃", "%", "AAAAAAAAAAAAAAAA", "A".repeat(2_000), "bad&cursor=worse"]) {
      expect((await shop.visit(`/?cursor=${cursor}`)).status, cursor).toBe(404);
    }
    for (const method of ["PUT", "DELETE", "OPTIONS"]) {
      expect((await shop.visit("/", undefined, { method, headers: { Origin: shop.origin } })).status, method).toBe(404);
    }
    const keys = ["☃", "a\nb", "", " ", "k".repeat(256)].map((key) => ({ animal: ID, key }));
    const ids = ["☃", "x", "1e3", "-", "", `${ID}.0`, "12345678901234567890"].map((animal) => ({ animal, key: "k" }));
    for (const fields of [...keys, ...ids, {}, { animal: ID }, { key: "k" }] as Record<string, string>[]) {
      const { status } = await shop.visit("/orders", new URLSearchParams(fields));
      expect(status, JSON.stringify(fields)).toBe(404);
    }
    const large = new URLSearchParams({ x: "x".repeat(2 ** 20) });
    expect([404, 413]).toContain((await shop.visit("/orders", large)).status);
    expect(await ordersOf(ID)).toEqual([]);

    const fields = { animal: ID, key: crypto.randomUUID() };
    expect((await shop.visit("/orders", new URLSearchParams(fields))).status).toBe(200);
    // The key of this form is that of another order.
    expect((await shop.visit("/orders", new URLSearchParams({ ...fields, animal: "1" }))).status).toBe(404);
    expect(await ordersOf("1")).toEqual([]);
    for (const path of ["/", animal?.to ?? ""]) {
      expect(await shop.visit(path, undefined, { method: "HEAD" })).toMatchObject({ status: 200, html: "" });
    }
    expect(shop.log.join("")).not.toContain("PetStoreError");
  });

  // Promise: shops-refuse-other-sites
  test("refuses an order from the form of another site", async () => {
    await stock();
    const shop = await open(start, service.url);
    const form = new URLSearchParams({ animal: ID, key: crypto.randomUUID() });
    const { port } = new URL(shop.origin);
    const origins = [
      "null",
      "",
      "https://evil.test",
      `https://evil.test:${port}`,
      `http://localhost:${port}`,
      `http://127.0.0.1:${Number(port) - 1}`,
      "http://127.0.0.1",
      `${shop.origin}.evil.test`,
      `https://evil.test/${shop.origin}`,
    ].map((Origin) => ({ Origin }));
    const sites = ["cross-site", "same-site", "none", "SAME-ORIGIN"].map((site) => ({ "Sec-Fetch-Site": site }));
    const both = { "Sec-Fetch-Site": "same-site", Origin: `http://sub.127.0.0.1:${port}` };
    for (const headers of [{}, ...origins, ...sites, both] as Record<string, string>[]) {
      expect((await shop.visit("/orders", form, { headers })).status, JSON.stringify(headers)).toBe(403);
    }
    expect(await ordersOf(ID)).toEqual([]);

    const headers = { "Sec-Fetch-Site": "same-origin" };
    expect((await shop.visit("/orders", form, { headers })).status).toBe(200);
    expect(await ordersOf(ID)).toHaveLength(1);
  });

  // Promise: shops-keep-the-key
  test("does not log a key that no header can hold", async () => {
    const shop = await run(start, service.url, "petstore_live\nSECRET");
    const log = async () => {
      await shop.visit("/").catch(() => {});
      return shop.log.join("");
    };
    await expect.poll(log, { timeout: 100_000 }).toMatch(/(Type|PetStore)Error/);
    expect(shop.log.join("")).not.toContain("SECRET");
    expect(shop.log.join("")).toContain("apiKey has to be visible ASCII.");
  });

  // Promise: shops-stay-up
  test("asks visitors to come back later when the service does not respond", async () => {
    const shop = await open(start, new URL(`http://127.0.0.1:${await getPort()}`));
    const { status, html } = await shop.visit("/");
    expect(status).toBe(503);
    expect(html).toContain("Please try again later");
    // The same request again, with the same key, is what tells whether the order is placed.
    const order = await shop.visit("/orders", new URLSearchParams({ animal: "1", key: crypto.randomUUID() }));
    expect([order.status, order.html]).toEqual([
      503,
      expect.stringContaining("Your order may be placed. Reload this page"),
    ]);
  });
});

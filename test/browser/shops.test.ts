import { spawn } from "node:child_process";
import { createHash, createHmac } from "node:crypto";
import { once } from "node:events";
import { cpSync } from "node:fs";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import type { BrowserContext, Page } from "playwright-core";
import { beforeAll, describe, expect, inject, onTestFinished, test, vi } from "vitest";
import { PetStore } from "../../client/src/index.ts";
import { startProductionService } from "../../scripts/production-service.ts";
import { LOCAL_API_KEY, LOCAL_TOKEN_SECRET } from "../../src/local-api-key.ts";
import { newProject } from "../built/project.ts";
import { serve } from "../built/serve.ts";
import { inNode, inWorkerd, openShop, type Start } from "../built/shop-fronts.ts";
import { openPage, origins, PHONE, violationsOf } from "./chromium.ts";

// The shop of examples/shop-browser and the service have different origins. Of the others, this tests the headers that Chromium sends with a
// form, and how it applies the policy of the pages.

const inBrowser: Start = (port, env) => {
  const project = newProject(onTestFinished);
  cpSync("examples/shop-browser", project, { recursive: true });
  return spawn(process.execPath, [join(project, "server.mjs")], { env: { ...env, PORT: String(port) } });
};

/** A token of the service, which has ended. */
function endedToken(): string {
  const keyHash = createHash("sha256").update(LOCAL_API_KEY).digest("hex");
  const expiresAt = Math.floor(Date.now() / 1_000) - 1;
  const claims = [keyHash, crypto.randomUUID(), expiresAt, ["pets:read", "orders:place", "orders:own"], "c_short", 1];
  const signed = `petstore_local_t_${Buffer.from(JSON.stringify(claims)).toString("base64url")}`;
  return `${signed}.${createHmac("sha256", LOCAL_TOKEN_SECRET).update(signed).digest("base64url")}`;
}

let store: PetStore;
beforeAll(() => {
  store = new PetStore({ baseUrl: `${origins.loopback}/v1`, apiKey: LOCAL_API_KEY });
});

/** A name that no other test has, of one word. */
const newName = () => `Ada${crypto.randomUUID().replaceAll("-", "").slice(0, 12)}`;
const stock = async (name: string) => (await store.pets.create({ name, categoryId: 1 })).animal;
const ordersOf = async (petId: bigint) => (await store.orders.list({ petId }).page()).items;

async function start(api = origins.loopback, program = inBrowser, key = LOCAL_API_KEY): Promise<string> {
  return (await openShop(program, new URL(api), key)).origin;
}

/** Opens the shop, and counts the requests of the page to the service and to the shop. */
async function open(origin: string, customer: string, prepare?: (context: BrowserContext) => Promise<unknown>) {
  const asked: string[] = [];
  const { page, faults } = await openPage("/", {
    origin,
    // It asks another origin, and some of its requests are refused.
    expectsFaults: true,
    prepare: async (page) => {
      page.on("request", (request) => void asked.push(`${request.method()} ${new URL(request.url()).pathname}`));
      await prepare?.(page.context());
    },
  });
  await page.getByLabel("Your name").fill(customer);
  await page.getByRole("button", { name: "Log in" }).click();
  await page.getByRole("heading", { name: "Your orders" }).waitFor();
  return { page, asked, errors: () => faults.filter((fault) => !/^asks |status of (?:401|409|429)|ERR_/.test(fault)) };
}

const search = async (page: Page, name: string) => {
  await page.getByLabel("Name of an animal").fill(name);
  // The lines of the list before go with the answer. Its animals may be in both.
  const lines = await page.locator("#animals li").elementHandles();
  await page.getByRole("button", { name: "Search" }).click();
  await expect
    .poll(() => Promise.all(lines.map((line) => line.evaluate((one) => one.isConnected))))
    .not.toContain(true);
};
const said = (page: Page, text: string | RegExp) => page.getByRole("status").filter({ hasText: text }).waitFor();
const orderButton = (page: Page, name: string) => page.getByRole("button", { name: `Order ${name}`, exact: true });

/** Holds two requests for orders until both are sent. Else the feed of the first may disable the button below the pointer of the second. */
async function gather(pages: Page[], method: string): Promise<void> {
  const [{ promise: areSent, resolve }, sent] = [Promise.withResolvers<void>(), new Set<unknown>()];
  for (const page of pages)
    await page.route(/\/v1\/store\/orders/, async (route) => {
      if (route.request().method() !== method) return route.fallback();
      if (sent.add(route).size === 2) resolve();
      await areSent;
      return route.continue();
    });
}

test("a customer searches, orders with a double click, and cancels, and the page asks once for each", async () => {
  const name = newName();
  const [{ id }, origin] = [await stock(name), await start()];
  const { page, asked, errors } = await open(origin, newName());
  const since = () => asked.splice(0).filter((one) => !/client|shop\./.test(one));
  // The reads share a token. The first one is refused, because nobody is logged in.
  expect(since()).toEqual([
    "GET /",
    "POST /token",
    "POST /login",
    "POST /token",
    "GET /v1/events/live",
    "GET /v1/pets",
    "GET /v1/store/orders",
  ]);
  await search(page, name);
  await orderButton(page, name).waitFor();
  expect(since()).toEqual(["GET /v1/pets"]);
  await gather([page], "POST");
  await orderButton(page, name).dblclick();
  await said(page, `Thank you. Your order of ${name} has the number`);
  await expect.poll(() => page.getByRole("button", { name: "Cancel" }).count()).toBe(1);
  expect(since()).toEqual(["POST /v1/store/orders", "POST /v1/store/orders"]);
  const [order, ...more] = await ordersOf(id);
  expect([order?.status, more]).toEqual(["placed", []]);
  expect(await orderButton(page, name).count()).toBe(0);
  await page.reload();
  await gather([page], "DELETE");
  await page.getByRole("button", { name: `Cancel ${order?.id}: ${name}` }).dblclick();
  await said(page, `Your order ${order?.id} is cancelled.`);
  expect((await ordersOf(id)).map(({ status }) => status)).toEqual(["cancelled"]);
  await expect.poll(() => asked.filter((one) => one.startsWith("DELETE")).length).toBe(2);
  // With the next key, because this is another order.
  await orderButton(page, name).click();
  await said(page, "Thank you");
  expect((await ordersOf(id)).map(({ status }) => status).toSorted()).toEqual(["cancelled", "placed"]);
  expect(errors()).toEqual([]);
});

// Promise: customers-have-their-own-orders
test("two customers at once see their own orders only, and one of them gets the animal", async () => {
  const [both, own] = [newName(), newName()];
  await stock(both);
  const [{ id }, origin] = [await stock(own), await start()];
  const [first, second] = [await open(origin, newName()), await open(origin, newName())];
  for (const { page } of [first, second]) await search(page, both);
  await gather([first.page, second.page], "POST");
  await Promise.all([first, second].map(({ page }) => orderButton(page, both).click()));
  await Promise.all([first, second].map(({ page }) => said(page, /Thank you|Somebody else was faster/)));
  const texts = await Promise.all([first, second].map(({ page }) => page.getByRole("status").textContent()));
  expect(texts.filter((text) => text?.startsWith("Thank you"))).toHaveLength(1);
  await search(first.page, own);
  await orderButton(first.page, own).click();
  await said(first.page, "Thank you");
  await second.page.reload();
  await second.page.getByRole("heading", { name: "Your orders" }).waitFor();
  expect(await second.page.getByText(own).count()).toBe(0);
  // Another customer cannot cancel it with their token either.
  const [order] = await ordersOf(id);
  const status = await second.page.evaluate(
    async ([api, order]) => {
      const token = await (await fetch("/token", { method: "POST" })).text();
      const headers = { Authorization: `Bearer ${token}` };
      return (await fetch(`${api}/v1/store/orders/${order}`, { method: "DELETE", headers })).status;
    },
    [origins.loopback, String(order?.id)],
  );
  expect([status, (await ordersOf(id))[0]?.status]).toEqual([404, "placed"]);
});

test("a response that is lost after the order is placed is asked for again, and the animal is ordered once", async () => {
  const name = newName();
  const [{ id }, origin] = [await stock(name), await start()];
  const { page } = await open(origin, newName());
  await search(page, name);
  let lost = 0;
  await page.route("**/v1/store/orders", async (route) => {
    if (route.request().method() !== "POST" || lost++ > 0) return route.continue();
    // The service has written it.
    await route.fetch();
    return route.abort("connectionreset");
  });
  await orderButton(page, name).click();
  await said(page, "Thank you");
  expect(await ordersOf(id)).toHaveLength(1);
  expect(lost).toBe(2);
});

test("an order without any answer is not shown as sold to somebody else, and can be tried again", async () => {
  const [name, origin] = [newName(), await start()];
  const { id } = await stock(name);
  const { page } = await open(origin, newName());
  await search(page, name);
  await page.route("**/v1/store/orders", async (route) => {
    if (route.request().method() !== "POST") return route.fallback();
    await route.fetch();
    return route.abort("connectionreset");
  });
  await orderButton(page, name).click();
  await said(page, "The shop does not respond. Try again: you order nothing twice.");
  await page.unroute("**/v1/store/orders");
  // The feed has told of the sale by now.
  await orderButton(page, name).click();
  await said(page, "Thank you");
  expect(await ordersOf(id)).toHaveLength(1);
});

test("a list that comes late takes the place of no later one, and two clicks show the next page once", async () => {
  const [early, many, origin] = [newName(), newName(), await start()];
  await stock(early);
  await store.pets.createMany(Array.from({ length: 25 }, (_, i) => ({ name: `${many} ${i}`, categoryId: 1 })));
  const { page } = await open(origin, newName());
  const { promise: released, resolve: release } = Promise.withResolvers<void>();
  const isEarly = (url: URL) => url.searchParams.get("q") === early;
  await page.route(isEarly, (route) => released.then(() => route.continue()));
  await page.getByLabel("Name of an animal").fill(early);
  const asked = page.waitForRequest((request) => request.method() === "GET" && isEarly(new URL(request.url())));
  await page.getByRole("button", { name: "Search" }).click();
  await asked;
  await search(page, many);
  const lines = page.locator("#animals li");
  await expect.poll(() => lines.count()).toBe(20);
  const late = page.waitForResponse((response) => isEarly(new URL(response.url())));
  release();
  await late;
  await wait(200);
  expect(await page.locator("#animals").getByText(early).count()).toBe(0);
  const pages: (() => void)[] = [];
  await page.route(/cursor=/, (route) => {
    if (pages.push(() => void route.continue()) === 2) for (const send of pages) send();
  });
  await page.getByRole("button", { name: "More animals" }).dblclick();
  await expect.poll(() => lines.count()).toBe(25);
  await page.getByRole("button", { name: "More animals" }).waitFor({ state: "hidden" });
  await wait(200);
  expect(await lines.count()).toBe(25);
});

/** The service behind a network that can be lost. */
async function startRelay() {
  const { hostname, port } = new URL(origins.loopback);
  const sockets = new Set<Socket>();
  let isLost = false;
  const relay = createServer((near) => {
    if (isLost) near.destroy();
    const far = connect(Number(port), hostname);
    for (const [from, to] of [
      [near, far],
      [far, near],
    ] as const) {
      sockets.add(from);
      from.on("error", () => {}).on("close", () => to.destroy());
      from.pipe(to);
    }
  });
  onTestFinished(() => {
    relay.close();
  });
  await once(relay.listen(0, "127.0.0.1"), "listening");
  const lose = (lost: boolean) => {
    isLost = lost;
    if (lost) for (const socket of sockets) socket.destroy();
  };
  return { origin: `http://127.0.0.1:${(relay.address() as AddressInfo).port}`, lose };
}

/** Stops or continues every process that runs pages, as a sleep of the machine does. */
async function signalPages(page: Page, signal: "SIGSTOP" | "SIGCONT"): Promise<void> {
  const browser = (await page.context().browser()?.newBrowserCDPSession()) ?? expect.unreachable();
  const { processInfo } = await browser.send("SystemInfo.getProcessInfo");
  for (const { type, id } of processInfo) if (type === "renderer") process.kill(id, signal);
  await browser.detach();
}

// Promise: live-in-pages
test("a sale is marked in two tabs and on a phone without a reload, also after a sleep and a lost network", async () => {
  const relay = await startRelay();
  const names = Array.from({ length: 4 }, () => `Live ${newName()}`);
  const ids = await Promise.all(names.map(async (name) => (await stock(name)).id));
  const origin = await start(relay.origin);
  const first = await open(origin, newName());
  const phone = await open(origin, newName(), async (context) => context.pages()[0]?.setViewportSize(PHONE));
  const tab = await first.page.context().newPage();
  await tab.goto(origin);
  const pages = [first.page, tab, phone.page];
  let loads = 0;
  const addresses = new Set<string>();
  for (const page of pages) {
    await page.getByRole("heading", { name: "Your orders" }).waitFor();
    page.on("load", () => loads++).on("websocket", (socket) => addresses.add(new URL(socket.url()).search));
    await search(page, "live");
  }
  /** Sells the next animal, does something, and returns the milliseconds from its end until every page shows the sale. */
  const sell = async (meanwhile = async () => {}) => {
    const [name, petId] = [names.pop() ?? "", ids.pop() ?? expect.unreachable()];
    await store.orders.place({ petId });
    await meanwhile();
    const begin = performance.now();
    const sold = (page: Page) => page.getByRole("button", { name: `Sold ${name}`, exact: true });
    await Promise.all(pages.map((page) => sold(page).waitFor()));
    expect(await sold(first.page).isDisabled()).toBe(true);
    return Math.round(performance.now() - begin);
  };
  const pause = () => wait(4_000);
  const now = await sell();
  await signalPages(tab, "SIGSTOP");
  const woken = await sell(() => pause().then(() => signalPages(tab, "SIGCONT")));
  relay.lose(true);
  const back = await sell(() => pause().then(() => relay.lose(false)));
  console.log(`Shown after ${now} ms, ${woken} ms after a sleep, and ${back} ms after the network is back`);
  // Cancelled, it is for sale again.
  const name = names[0] ?? "";
  const { order } = await store.orders.place({ petId: ids[0] ?? 0n });
  await phone.page.getByRole("button", { name: `Sold ${name}`, exact: true }).waitFor();
  expect(await violationsOf(phone.page, {})).toEqual([]);
  await store.orders.cancel(order.id);
  for (const page of pages) await expect.poll(() => orderButton(page, name).isEnabled()).toBe(true);
  expect([loads, [...addresses].filter((search) => search.includes("petstore_"))]).toEqual([0, []]);
  expect(first.errors().concat(phone.errors())).toEqual([]);
});

// Promise: tokens-are-renewed
test("a token that ends in the middle is renewed, and the order is placed once", async () => {
  const name = newName();
  const [{ id }, origin] = [await stock(name), await start()];
  const { page, asked } = await open(origin, newName());
  await search(page, name);
  await orderButton(page, name).waitFor();
  let orders = 0;
  await page.route("**/v1/store/orders", async (route) => {
    if (route.request().method() !== "POST" || orders++ > 0) return route.fallback();
    const headers = { ...(await route.request().allHeaders()), authorization: `Bearer ${endedToken()}` };
    return route.continue({ headers });
  });
  asked.splice(0);
  await orderButton(page, name).click();
  await said(page, "Thank you");
  expect(asked.filter((one) => one.startsWith("POST"))).toEqual([
    "POST /v1/store/orders",
    "POST /token",
    "POST /v1/store/orders",
  ]);
  expect(await ordersOf(id)).toHaveLength(1);
  // Without a session, there is no next token, and the page asks for the login.
  await page.context().clearCookies();
  await page.reload();
  await said(page, "Please log in.");
  expect(await page.getByLabel("Your name").isVisible()).toBe(true);
});

test("a page whose server does not respond says so, and goes on when it does", async () => {
  const { page } = await open(await start(), newName());
  let asked = 0;
  await page.route("**/token", (route) => (asked++ === 0 ? route.fulfill({ status: 503 }) : route.continue()));
  await page.reload();
  await said(page, "The shop is closed for a moment.");
  await page.getByRole("heading", { name: "Your orders" }).waitFor();
  await page.context().clearCookies();
  await page.reload();
  await page.route("**/login", (route) => route.abort(), { times: 1 });
  await page.getByLabel("Your name").fill(newName());
  await page.getByRole("button", { name: "Log in" }).click();
  await said(page, "The shop is closed for a moment.");
  await page.getByRole("button", { name: "Log in" }).click();
  await page.getByRole("heading", { name: "Your orders" }).waitFor();
  expect(await page.getByLabel("Your name").isVisible()).toBe(false);
});

test("a customer who is too fast reads how long to wait", async () => {
  // With the limits of production.
  const { url, key, harness } = await startProductionService(inject("bundle"));
  onTestFinished(() => harness.close());
  const { page } = await open(await start(url.origin, inBrowser, key), newName());
  // A new minute may begin once.
  for (let i = 0; i < 2 && !(await page.getByText("too fast").isVisible()); i++) {
    await page.evaluate(async (api) => {
      const headers = { Authorization: `Bearer ${await (await fetch("/token", { method: "POST" })).text()}` };
      await Promise.all(Array.from({ length: 100 }, () => fetch(`${api}/v1/pets?limit=1`, { headers })));
    }, url.origin);
    await search(page, "a");
  }
  await said(page, "That was too fast. Please try again in 60 seconds.");
  expect(await page.getByRole("button", { name: "Search" }).isVisible()).toBe(true);
});

test("the page keeps to WCAG 2.2 AA, and runs no script but its own", async () => {
  const name = `<img src=x onerror=alert(1)>${newName()}`;
  const [{ id }, origin] = [await stock(name), await start()];
  const { page, errors } = await open(origin, newName());
  await search(page, name.slice(-15));
  await orderButton(page, name).click();
  await said(page, "Thank you");
  expect(await page.locator("img").count()).toBe(0);
  await stock(newName());
  await search(page, "");
  await page
    .getByRole("button", { name: /^Order / })
    .first()
    .waitFor();
  for (const colorScheme of ["light", "dark"] as const) {
    await page.emulateMedia({ colorScheme });
    expect(await violationsOf(page, {})).toEqual([]);
  }
  expect((await ordersOf(id)).length).toBe(1);
  expect(errors()).toEqual([]);
  // A page of another site gets no token. Older browsers tell its origin alone.
  for (const headers of [{ "Sec-Fetch-Site": "cross-site" }, { Origin: "https://other.example" }]) {
    const foreign = await fetch(`${origin}/token`, { method: "POST", headers });
    expect([foreign.status, foreign.headers.get("Access-Control-Allow-Origin")]).toEqual([404, null]);
  }
  expect((await fetch(`${origin}/token`, { method: "POST", headers: { Origin: origin } })).status).toBe(401);
});

/** A page with the form of a shop, and with the shop in a frame. Returns its origin. */
async function startOtherSite(shop: string, fields: Record<string, string>): Promise<string> {
  const inputs = Object.entries(fields).map(([name, value]) => `<input name="${name}" value="${value}">`);
  const page = `<!doctype html><link rel="icon" href="data:,"><title>Other</title><iframe src="${shop}"></iframe>
    <form method="post" action="${shop}/orders">${inputs.join("")}<button>Win a prize</button></form>`;
  return serve((_request, response) => response.setHeader("Content-Type", "text/html").end(page));
}

test("the kiosk shows a new animal without a reload, and the text of its name only", async () => {
  vi.stubEnv("IDLE", "100");
  onTestFinished(() => void vi.unstubAllEnvs());
  const origin = await start(origins.loopback, inNode(process.execPath, "kiosk.mjs"));
  const { page } = await openPage("/", { origin });
  await page.evaluate("globalThis.loaded = 1");
  for (const name of ["Ada", "<img src=x onerror=alert(1)>\n\ndata: <b>Max"]) {
    await store.pets.create({ name, categoryId: 1 });
    await page
      .getByRole("listitem")
      .first()
      .filter({ hasText: name.replaceAll(/\s+/g, " ") })
      .waitFor();
  }
  expect(await page.locator("li *").count()).toBe(0);
  expect(await page.evaluate("globalThis.loaded")).toBe(1);
  for (const [name, found] of [
    ["data MÄX", ["<img src=x onerror=alert(1)>  data: <b>Max"]],
    ["!", []],
  ] as const) {
    await page.goto(origin);
    await page.getByLabel("Name").fill(name);
    await page.getByRole("button", { name: "Search" }).click();
    await page.waitForURL(/found/);
    expect(await page.getByRole("listitem").allTextContents()).toEqual(found);
  }
  await page.goto(`${origin}/found?q=${"x".repeat(256)}`);
  expect(await page.getByRole("listitem").allTextContents()).toEqual(["Please search for something else"]);
});

describe.each([
  ["in workerd", inWorkerd],
  ["in Node.js", inNode(process.execPath)],
])("the shop %s", (_runtime, program) => {
  // Chromium sends no Sec-Fetch-Site to an insecure host on another machine.
  test.each(["127.0.0.1", "petstore.example"])("at %s accepts orders only from its own form", async (host) => {
    const animal = await stock("Ada");
    const origin = (await start(origins.loopback, program)).replace("127.0.0.1", host);

    const fields = { animal: String(animal.id), key: crypto.randomUUID() };
    const other = await startOtherSite(origin, fields);
    for (const site of [other, other.replace("127.0.0.1", "petstore.example")]) {
      const { page, faults } = await openPage("/", { origin: site, expectsFaults: true });
      await expect.poll(() => faults.join("\n"), { timeout: 60_000 }).toContain("frame-ancestors 'none'");
      const refused = page.waitForResponse((response) => response.request().method() === "POST");
      await page.getByRole("button", { name: "Win a prize" }).click();
      expect((await refused).status()).toBe(403);
    }
    expect(await ordersOf(animal.id)).toEqual([]);

    // Chromium says which headers it ignores of an insecure host.
    const { page } = await openPage("/", { origin, expectsFaults: host !== "127.0.0.1" });
    await page.getByLabel("Name").fill("adá");
    await page.getByRole("button", { name: "Search" }).click();
    await page.waitForURL(/q=/);
    const link = page.getByRole("link", { name: "Ada", exact: true });
    while ((await link.count()) === 0) {
      const shown = page.url();
      await page.getByText("More animals").click();
      await page.waitForURL(({ href }) => href !== shown);
    }
    await link.last().click();
    await page.getByRole("button", { name: "Order Ada" }).click();
    await page.getByRole("heading", { name: "Thank you" }).waitFor();
    expect(await ordersOf(animal.id)).toHaveLength(1);
  });
});

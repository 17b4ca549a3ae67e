import { describe, expect, onTestFinished, test, vi } from "vitest";
import { PetStore } from "../../client/src/index.ts";
import { LOCAL_API_KEY } from "../../src/local-api-key.ts";
import { serve } from "../built/serve.ts";
import { inNode, inWorkerd, startShop } from "../built/shop-fronts.ts";
import { openPage, origins } from "./chromium.ts";

// Tests the headers that Chromium sends with a form, and how it applies the policy of the pages.

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
  const store = new PetStore({ baseUrl: `${origins.loopback}/v1`, apiKey: LOCAL_API_KEY });
  const { origin } = await startShop(inNode(process.execPath, "kiosk.mjs"), new URL(origins.loopback), LOCAL_API_KEY);
  await expect.poll(() => fetch(origin).then(({ status }) => status, String), { timeout: 100_000 }).toBe(200);
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
])("the shop %s", (_runtime, start) => {
  // Chromium sends no Sec-Fetch-Site to an insecure host on another machine.
  test.each(["127.0.0.1", "petstore.example"])("at %s accepts orders only from its own form", async (host) => {
    const store = new PetStore({ baseUrl: `${origins.loopback}/v1`, apiKey: LOCAL_API_KEY });
    const ordersOf = async (petId: bigint) => (await store.orders.list({ petId }).page()).items;
    const { animal } = await store.pets.create({ name: "Ada", categoryId: 1 });
    const { origin: address } = await startShop(start, new URL(origins.loopback), LOCAL_API_KEY);
    await expect
      .poll(() => fetch(`${address}/nothing`).then(({ status }) => status, String), { timeout: 100_000 })
      .toBe(404);
    const origin = address.replace("127.0.0.1", host);

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
    while ((await page.getByRole("link", { name: "Ada" }).count()) === 0) await page.getByText("More animals").click();
    await page.getByRole("link", { name: "Ada" }).last().click();
    await page.getByRole("button", { name: "Order Ada" }).click();
    await page.getByRole("heading", { name: "Thank you" }).waitFor();
    expect(await ordersOf(animal.id)).toHaveLength(1);
  });
});

import { writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Locator, Page } from "playwright-core";
import { expect, onTestFinished, test } from "vitest";
import { PetStore } from "../../client/src/index.ts";
import { generateKey } from "../../src/auth/key-format.ts";
import { LOCAL_API_KEY } from "../../src/local-api-key.ts";
import { temporaryFolder } from "../built/folder.ts";
import { serve } from "../built/serve.ts";
import { bindings, grantKey, openConsole, openPage, origins, PHONE, tabTo } from "./chromium.ts";

/** The global object of the page, where some of the functions below run. */
declare const document: {
  documentElement: { scrollWidth: number };
  activeElement: { id: string; name: string };
};
declare const sessionStorage: { length: number };

const store = () => new PetStore({ baseUrl: `${origins.loopback}/v1`, apiKey: LOCAL_API_KEY }).session();

/** An animal with an order for it. */
async function placeOrder(name: string, more: { reference?: string; customer?: string } = {}) {
  const session = store();
  const { animal } = await session.pets.create({ name, categoryId: 1 });
  const { order } = await session.orders.place({ petId: animal.id, ...more });
  return { animal, order, row: `#order-${order.id}` };
}

const write = (sql: string) => bindings.DB.prepare(sql).run();
const said = (page: Page) => page.locator(".notices [role=status]");
const tells = (page: Page, words: RegExp) => said(page).getByText(words).waitFor();
/** The rows of a file that cannot be added. Reading a large one takes long. */
async function refuses(page: Page, rows: string[]): Promise<void> {
  await expect.poll(() => page.locator(".refused li").allInnerTexts(), { timeout: 60_000 }).toEqual(rows);
}
const alerted = (page: Page) => page.locator(".notices [role=alert]");
const focused = (page: Page) => page.evaluate(() => document.activeElement.id);
const find = async (page: Page, label: string, text: string) => {
  await page.getByRole("searchbox", { name: label }).fill(text);
  await page.getByRole("button", { name: "Find" }).click();
};
const enterAnimal = async (page: Page, name: string) => {
  await page.getByRole("button", { name: "Add an animal" }).click();
  await page.getByLabel("Name", { exact: true }).fill(name);
  await page.locator(".question").getByLabel("Category").fill("7");
};
const ship = async (row: Locator) => {
  await row.getByRole("button", { name: "Ship" }).click();
  await row.getByRole("button", { name: "Ship order" }).click();
};

test("a key is filled in on this machine only, kept for the tab, and forgotten by signing out", async () => {
  for (const [origin, value] of [
    [origins.loopback, LOCAL_API_KEY],
    [origins.other, ""],
  ] as const) {
    const { page } = await openPage("/console", { origin });
    expect(await page.getByLabel("API key").inputValue()).toBe(value);
  }
  const { page } = await openConsole("orders");
  await page.getByText("Local development local").waitFor();
  await page.reload();
  await page.getByRole("button", { name: "Sign out" }).click();
  await page.getByLabel("API key").waitFor();
  expect(await page.evaluate(() => sessionStorage.length)).toBe(0);
  expect(page.url()).not.toContain("petstore_");
});

test("a key that is none stays out, with the request id to copy", async () => {
  const { page } = await openPage("/console", { expectsFaults: true });
  for (const [key, words] of [
    [generateKey("local"), "The service does not accept the key."],
    ["no key at all!\u00FC", ""],
  ] as const) {
    await page.getByLabel("API key").fill(key);
    await page.getByRole("button", { name: "Sign in" }).click();
    await alerted(page).filter({ hasText: words }).waitFor();
    expect(await page.getByRole("navigation").count()).toBe(0);
  }
});

test("what the scopes do not allow is not shown, and named", async () => {
  await placeOrder("Narrow");
  for (const [scopes, parts, buttons, missing] of [
    [["pets:read"], ["Animals"], 0, "add and change animals (pets:write)"],
    [["store:read", "pets:read"], ["Orders", "Animals", "Numbers"], 0, "ship and cancel orders (orders:manage)"],
    [["store:read", "orders:manage"], ["Orders", "Numbers"], 1, "see animals (pets:read)"],
    [["webhooks:manage"], ["Webhooks"], 0, "see orders and numbers (store:read)"],
    [["orders:place"], [], 0, "look after webhooks (webhooks:manage)"],
  ] as const) {
    const key = await grantKey(generateKey("local"), { id: scopes.join(), scopes: [...scopes] });
    const { page } = await openConsole("orders", { key });
    expect(await page.getByRole("navigation", { name: "Console" }).getByRole("link").allInnerTexts()).toEqual(parts);
    const found = await page.getByRole("button", { name: /^(Ship|Change|Delete) / }).count();
    expect(found > 0, scopes.join()).toBe(buttons > 0);
    expect(await said(page).innerText()).toContain(missing);
  }
});

test("an order is found by number, animal, reference and customer", async () => {
  const customer = `c-${crypto.randomUUID()}`;
  const { order, row } = await placeOrder("Found <b>", { reference: "Rechnung 7 & \u00FC", customer });
  const { page } = await openConsole("orders");
  for (const text of [`#${order.id}`, "FOUND b", "Rechnung 7 & \u00FC", customer]) {
    await find(page, "Number, animal, reference or customer", text);
    await page.locator(row).getByText("Found <b>").waitFor();
    await expect.poll(() => page.locator(".rows > li").count()).toBe(1);
  }
  await find(page, "Number, animal, reference or customer", "nobody");
  await page.getByText("Nothing found.").waitFor();
  const later = await placeOrder("Later", { customer: "nobody" });
  await page.getByRole("button", { name: "Find" }).click();
  await page.locator(later.row).waitFor();
  await page.goBack();
  await page.locator(row).waitFor();
  // Of many animals with a name, it looks at the newest, and says so.
  await store().pets.createMany(Array.from({ length: 20 }, () => ({ name: "Found", categoryId: 7 })));
  await find(page, "Number, animal, reference or customer", "found");
  await said(page).getByText("There are more.").waitFor();
  expect(await page.locator(".rows > li").count()).toBe(0);
  const key = await grantKey(generateKey("local"), { scopes: ["store:read"] });
  await (await openConsole("orders?find=found", { key })).page.getByText("Nothing found.").waitFor();
});

test("the orders to ship are fetched anew by themselves, but not under a question", async () => {
  const [first, second] = [await placeOrder("Live"), await placeOrder("Asked")];
  const { page } = await openConsole("orders", { prepare: ({ clock }) => clock.install() });
  await store().orders.cancel(first.order.id);
  await page.clock.fastForward(15_000);
  await page.locator(first.row).waitFor({ state: "detached" });
  await page.locator(second.row).getByRole("button", { name: "Ship" }).click();
  await store().orders.cancel(second.order.id);
  const asked: string[] = [];
  page.on("request", (request) => void (request.url().includes("/store/orders") && asked.push(request.url())));
  await page.clock.fastForward(15_000);
  expect([asked, await focused(page)]).toEqual([[], "confirm"]);
  await page.keyboard.press("Escape");
  await page.clock.fastForward(15_000);
  await page.locator(second.row).waitFor({ state: "detached" });
  // A question goes with its row.
  const third = await placeOrder("Gone");
  await page.locator(third.row).getByRole("button", { name: "Ship" }).click();
  await store().orders.cancel(third.order.id);
  await page.getByRole("button", { name: "Refresh" }).click();
  await page.locator(third.row).waitFor({ state: "detached" });
  const fourth = await placeOrder("Next");
  await page.clock.fastForward(15_000);
  await page.locator(fourth.row).waitFor();
});

test("orders that could not be fetched anew by themselves are fetched a little later", async () => {
  const { order, row } = await placeOrder("Refused");
  const { page } = await openConsole("orders", { expectsFaults: true, prepare: ({ clock }) => clock.install() });
  const json = { code: "rate_limited", message: "Too many requests.", status: 429 };
  await page.route(/store\/orders\?/, (route) =>
    route.fulfill({ status: 429, headers: { "Retry-After": "60" }, json }),
  );
  const refused = page.waitForResponse((response) => response.status() === 429);
  await store().orders.cancel(order.id);
  await refused;
  await page.unroute(/store\/orders\?/);
  await page.clock.fastForward(15_000);
  await expect.poll(() => page.locator(row).count()).toBe(0);
});

test("the keyboard alone signs in, ships an order, and keeps its place", async () => {
  const { row, order } = await placeOrder("Keys");
  const { page } = await openPage(`/console#orders?find=${order.id}`);
  const press = async (name: string) => {
    await tabTo(page, name);
    await page.keyboard.press("Enter");
  };
  await press("Sign in");
  await page.locator(row).waitFor();
  expect(await focused(page)).toBe("title");
  await press(`Ship order ${order.id}`);
  await expect.poll(() => focused(page)).toBe("confirm");
  await page.keyboard.press("Escape");
  await expect.poll(() => focused(page)).toBe(`order-${order.id}-ship`);
  await page.keyboard.press("Enter");
  await expect.poll(() => focused(page)).toBe("confirm");
  await page.keyboard.press("Enter");
  await said(page).getByText(`Order ${order.id} is shipped.`).waitFor();
  await expect.poll(() => focused(page)).toBe(`order-${order.id}`);
  expect((await store().orders.get(order.id)).order.status).toBe("shipped");
});

test.each([
  { somebody: "ships it", as: "shipped", buttons: 0 },
  { somebody: "changes something else", as: "placed", buttons: 2 },
])("of two consoles on one order, the slower one is told, and shown how it is now ($somebody)", async (other) => {
  const { row, order } = await placeOrder("Wanted");
  const [first, second] = await Promise.all(
    [0, 1].map(async () => (await openConsole(`orders?find=${order.id}`, { expectsFaults: true })).page),
  );
  if (!first || !second) expect.unreachable();
  if (other.as === "placed") await store().orders.update(order.id, { reference: "new" });
  else await ship(first.locator(row));
  await expect.poll(async () => (await store().orders.get(order.id)).etag).not.toBe('"1"');
  await second.locator(row).getByRole("button", { name: "Cancel" }).click();
  await second.getByRole("button", { name: "Cancel order" }).click();
  await alerted(second).getByText("changed by somebody else").waitFor();
  await second.locator(row).locator(".state").getByText(other.as).waitFor();
  await expect.poll(() => second.locator(row).getByRole("button").count()).toBe(other.buttons);
  expect((await store().orders.get(order.id)).order.status).toBe(other.as);
});

test("a lost answer doubles nothing, also after a reload", async () => {
  const { page } = await openConsole("animals", { expectsFaults: true });
  const name = `Lost ${crypto.randomUUID()}`;
  const add = async () => {
    await enterAnimal(page, name);
    await page.locator("#confirm").click();
  };
  await page.route("**/v1/pets", async (route) => {
    if (route.request().method() !== "POST") return route.continue();
    await route.fetch();
    await route.abort();
  });
  await add();
  await said(page).getByText("No answer yet").waitFor();
  await alerted(page).getByText("Try again: nothing happens twice.").waitFor({ timeout: 60_000 });
  await page.unroute("**/v1/pets");
  await page.reload();
  await page.locator('section[aria-busy="false"]').waitFor();
  await add();
  await said(page).getByText("The try before had added it").waitFor();
  const found = await store().pets.list({ categoryId: 7 }).all(100);
  expect(found.filter((animal) => animal.name === name)).toHaveLength(1);
  await page.getByRole("button", { name: "Undo" }).click();
  await said(page).getByText("is deleted").waitFor();
});

test("a 401 in the middle asks for the key, and loses nothing that was entered", async () => {
  const key = await grantKey(generateKey("local"), { id: "short" });
  const { page } = await openConsole("animals", { key, expectsFaults: true });
  await enterAnimal(page, "Kept");
  // The service caches a key that ends. This request has one that does not exist.
  const headers = { Authorization: `Bearer ${generateKey("local")}` };
  await page.route("**/v1/pets", (route) => route.continue({ headers }), { times: 1 });
  await page.locator("#confirm").click();
  await alerted(page).getByText("The service does not accept the key.").waitFor();
  await page.getByText("Request ").waitFor();
  await expect.poll(() => focused(page)).toBe("key");
  // Something that was not saved may stop the reload.
  let reloads = 0;
  page.on("dialog", (dialog) => void dialog.dismiss().then(() => (reloads += 1)));
  await page.evaluate('addEventListener("beforeunload", (event) => event.preventDefault())');
  await page.getByLabel("API key").fill(LOCAL_API_KEY);
  for (const expected of [1, 2]) {
    await page.getByRole("button", { name: "Sign in" }).click();
    await expect.poll(() => reloads).toBe(expected);
    expect(await page.getByRole("button", { name: "Add an animal" }).isVisible()).toBe(false);
  }
  const renewed = await grantKey(generateKey("local"), { id: "short" });
  await page.getByLabel("API key").fill(renewed);
  await page.keyboard.press("Enter");
  await expect.poll(() => page.getByLabel("Name", { exact: true }).inputValue()).toBe("Kept");
  await page.locator("#confirm").click();
  await tells(page, /Kept is animal \d+/);
});

test("an animal is changed, changed back, and deleted after a question", async () => {
  const { animal } = await store().pets.create({ name: "Before", categoryId: 7 });
  const { page } = await openConsole(`animals?q=${animal.id}`);
  const row = page.locator(`#animal-${animal.id}`);
  const steps: [does: () => Promise<void>, says: string, leaves: object[]][] = [
    [
      async () => {
        await row.getByRole("button", { name: "Change" }).click();
        await expect.poll(() => page.evaluate(() => document.activeElement.name)).toBe("name");
        await row.getByLabel("Name", { exact: true }).fill("After");
        expect(await row.getByLabel("Status").innerText()).toContain("pending (reserved, mostly by an order)");
        await row.getByLabel("Status").selectOption("sold");
        await row.getByRole("button", { name: "Change Before" }).click();
      },
      "After is changed.",
      [{ ...animal, name: "After", status: "sold" }],
    ],
    [() => page.getByRole("button", { name: "Undo" }).click(), "Before is changed.", [animal]],
    [
      async () => {
        await row.getByRole("button", { name: "Delete" }).click();
        await row.getByText("category (category 7, name unknown) and status (available) are lost").waitFor();
        await page.locator("#confirm").click();
      },
      "Before is deleted.",
      [],
    ],
  ];
  for (const [does, says, leaves] of steps) {
    await does();
    await said(page).getByText(says).waitFor();
    const left = store().pets.list({ id: [animal.id] });
    expect(await left.all(1)).toEqual(leaves);
  }
  expect(await row.count()).toBe(0);
});

test("an animal is sold at the counter once, also when the answer is lost, and the order is cancelled", async () => {
  const { animal } = await store().pets.create({ name: `Counter ${crypto.randomUUID()}`, categoryId: 7 });
  const { page } = await openConsole("orders", { expectsFaults: true });
  await page.getByRole("button", { name: "Sell an animal" }).click();
  await page.getByText("To sell an animal, press Sell beside it.").waitFor();
  await find(page, "Name or number", animal.name);
  const row = page.locator(`#animal-${animal.id}`);
  await row.getByRole("button", { name: "Sell" }).click();
  await row.getByLabel("Customer").fill("c 1");
  await page.locator("#confirm").click();
  await alerted(page).getByText("The customer number, c 1, has a space").waitFor();
  await row.getByLabel("Customer").fill("c-1");
  await row.getByLabel("Reference").fill("till 4");
  const keys = new Set<string | undefined>();
  await page.route("**/v1/store/orders", async (route) => {
    keys.add(route.request().headers()["idempotency-key"]);
    await route.fetch();
    await route.abort();
  });
  await page.locator("#confirm").click();
  await alerted(page).getByText("Try again: nothing happens twice.").waitFor({ timeout: 60_000 });
  await page.unroute("**/v1/store/orders");
  const again = page.waitForRequest((request) => request.method() === "POST");
  await page.locator("#confirm").dblclick();
  keys.add((await again).headers()["idempotency-key"]);
  await tells(page, /Order \d+ is placed for Counter/);
  expect(keys.size).toBe(1);
  const placed = await store().orders.list({ petId: animal.id }).all(10);
  expect(placed).toMatchObject([{ status: "placed", customer: "c-1", reference: "till 4" }]);
  expect(await row.getByRole("button", { name: "Sell" }).count()).toBe(0);
  await page.goto(`${page.url().split("#")[0]}#orders?find=c-1`);
  const order = page.locator(`#order-${placed[0]?.id}`);
  await order.getByRole("button", { name: "Cancel" }).click();
  await order.locator("#confirm").click();
  await said(page).getByText("is cancelled").waitFor();
  await page.goto(`${page.url().split("#")[0]}#animals?q=${animal.id}`);
  await row.getByRole("button", { name: "Sell" }).waitFor();
});

test("many animals are changed at once, and each that is refused says why", async () => {
  const name = `Flock${Date.now()}`;
  const session = store();
  await session.pets.createMany(Array.from({ length: 28 }, () => ({ name, categoryId: 7 })));
  const ordered = await placeOrder(name);
  const { category } = await session.categories.create({ name: `Geese ${name}` });
  const { page } = await openConsole(`animals?q=${name}`, { expectsFaults: true });
  await session.pets.update((await session.pets.list({ q: name, sort: "-id" }).all(50))[1]?.id ?? 0, {
    name: `${name} too`,
  });
  const change = async (fill: (form: Locator) => Promise<unknown>) => {
    await page.getByRole("button", { name: "Change for 29 animals" }).click();
    await fill(page.locator(".question"));
    await page.locator("#confirm").click();
  };
  await page.getByLabel("Choose all").click();
  await page.getByText("29 animals chosen").waitFor();
  await change((form) => form.getByLabel("Status").selectOption("sold"));
  await alerted(page).getByText("27 animals changed. 2 animals not: the list says why.").waitFor();
  await page
    .locator(`#animal-${ordered.animal.id}`)
    .getByText(/Not changed: .*order/)
    .waitFor();
  await page.locator(".rows > li", { hasText: "too" }).getByText("Somebody else changed it.").waitFor();
  await change((form) => form.getByLabel("Category").fill(category.name));
  await said(page).getByText("29 animals changed.").waitFor();
  const now = await store().pets.list({ q: name, categoryId: category.id }).all(50);
  expect(now.map(({ status }) => status)).toEqual([...Array(27).fill("sold"), "available", "pending"]);
});

test("after a step back, what is chosen is what the list shows", async () => {
  const { page } = await openConsole("animals");
  const status = page.getByLabel("Status");
  const isAsked = (value: string) => page.waitForURL(({ hash }) => hash.includes(`status=${value}&`));
  for (const value of ["sold", ""]) {
    await status.selectOption(value);
    await isAsked(value);
  }
  await page.goBack();
  await isAsked("sold");
  await expect.poll(() => status.inputValue()).toBe("sold");
  await page.goBack();
  await expect.poll(() => status.inputValue()).toBe("");
});

test("a list that comes late does not take the place of a later one", async () => {
  const { animal } = await store().pets.create({ name: "Later", categoryId: 7 });
  const { page } = await openConsole("animals");
  await enterAnimal(page, "Earlier");
  let release: (() => Promise<void>) | undefined;
  const isList = (url: URL) => url.pathname === "/v1/pets" && url.searchParams.has("sort");
  await page.route(isList, (route) => void (release = () => route.continue()), { times: 1 });
  await page.locator("#confirm").click();
  await expect.poll(() => release !== undefined).toBe(true);
  await find(page, "Name or number", String(animal.id));
  await expect.poll(() => page.locator(".rows > li").count()).toBe(1);
  await release?.();
  await tells(page, /Earlier is animal \d+/);
  expect(await page.locator(".rows > li").allInnerTexts()).toEqual([expect.stringContaining("Later")]);
});

test("a CSV file is checked, added once, and goes on after a bad line", async () => {
  const category = await store().categories.create({ name: `Fish ${crypto.randomUUID()}` });
  const { id, name } = category.category;
  const { page } = await openConsole("animals", { expectsFaults: true });
  await page.getByRole("button", { name: "Add many" }).click();
  const lines = Array.from({ length: 250 }, (_, index) => `"Fish ""${index}"", small",${name},sold`);
  const csv = `\uFEFFName,Category,Status\r\n${lines.join("\r\n")}\r\n\r\nWho?,Nowhere,\r\n,${name},\r\nTwo,${name},gone\r\n`;
  const choose = (buffer: Buffer) =>
    page.locator("[type=file]").setInputFiles({ name: "fish.csv", mimeType: "text/csv", buffer });
  await choose(Buffer.from("name,category\nK\u00E4the,7", "latin1"));
  await alerted(page).getByText("Save the file as UTF-8").waitFor();
  await choose(Buffer.from(csv));
  await refuses(page, [
    "Row 253: There is no category Nowhere. Add it first.",
    "Row 254: The name is missing.",
    "Row 255: The status gone is none of available, pending, sold.",
  ]);
  let batches = 0;
  await page.route("**/v1/pets/batch", async (route) => {
    await route.fetch();
    return ++batches === 1 ? route.continue() : route.abort();
  });
  await page.locator("#confirm").click();
  await alerted(page).getByText("Try again: nothing happens twice.").waitFor({ timeout: 60_000 });
  await page.unroute("**/v1/pets/batch");
  // The attempt goes on in this tab only.
  const tab = await page.context().newPage();
  await tab.goto(page.url());
  await tab.getByRole("button", { name: "Sign in" }).click();
  for (const [one, warnings] of [
    [tab, 1],
    [page, 0],
  ] as const) {
    if (one === tab) await one.getByRole("button", { name: "Add many" }).click();
    const again = { name: "again.csv", mimeType: "text/csv", buffer: Buffer.from(csv) };
    await one.locator("[type=file]").setInputFiles(again);
    await one.getByText("again.csv: 250 animals can be added").waitFor();
    expect(await one.getByText("This browser added this file before").count()).toBe(warnings);
  }
  await page.locator("#confirm").click();
  await said(page).getByText("Added 250 animals.").waitFor();
  const added = await store().pets.list({ categoryId: id }).all(1_000);
  const fish = added.filter((animal) => animal.name.startsWith("Fish"));
  expect(fish.map((animal) => [animal.name, animal.status])).toEqual(
    lines.map((_, index) => [`Fish "${index}", small`, "sold"]),
  );
});

/** A file of two animals, one with a comma and quotation marks, as each program writes it. */
const SPREADSHEETS: { [written: string]: (fish: string) => string } = {
  "by Excel, as CSV UTF-8": (fish) => `\uFEFFname,category\r\n"Rex, ""R""",${fish}\r\nMax,${fish}\r\n`,
  "by Excel with semicolons": (fish) => `\uFEFFname;category\r\n"Rex, ""R""";${fish}\r\nMax;${fish}\r\n`,
  "for Excel, with its own line": (fish) => `sep=;\r\nname;category\r\n"Rex, ""R""";${fish}\r\nMax;${fish}\r\n`,
  "by LibreOffice": (fish) => `name,category\n"Rex, ""R""",${fish}\nMax,${fish}\n`,
  "by LibreOffice, quoted, with Excel's line": (fish) =>
    `"sep=|"\n"name"|"category"\n"Rex, ""R"""|"${fish}"\n"Max"|"${fish}"\n`,
  "by Google Sheets": (fish) => `name,category\r\n"Rex, ""R""",${fish}\r\nMax,${fish}`,
  "by hand": (fish) => `category, name\n${fish}, "Rex, ""R"""\n"${fish}" , "Max" \n`,
};

test("a file with external ids is imported again without a change, and one without them is warned of", async () => {
  const { category } = await store().categories.create({ name: `Again ${crypto.randomUUID()}` });
  const { page } = await openConsole("animals", { expectsFaults: true });
  const choose = async (columns: string, rows: string[]) => {
    await page.getByRole("button", { name: "Add many" }).click();
    const buffer = Buffer.from(
      `name,category,price,${columns}\n${rows.map((row) => `Rex,${category.id},9,${row}`).join("\n")}`,
    );
    await page.locator("[type=file]").setInputFiles({ name: "again.csv", mimeType: "text/csv", buffer });
    await page.getByText("Ignored columns: price").waitFor();
  };
  const ids = Array.from({ length: 70 }, (_, index) => `${category.id}-${index}`);
  const animals = async () => {
    const all = await store().pets.list({ categoryId: category.id }).all(1_000);
    return all.filter(({ externalId }) => externalId !== undefined);
  };
  for (const [rows, says] of [
    [ids.map((id) => `${id},`), "70 animals added, 0 changed, 0 as before, 0 refused."],
    [ids.map((id) => `${id},`), "Nothing changed, 70 as before, 0 refused."],
    [
      [...ids.slice(1).map((id) => `${id},`), `${ids[0]},sold`, ",", `${ids[1]},`],
      "0 animals added, 1 changed, 69 as before, 0 refused.",
    ],
  ] as const) {
    await choose("External ID,status", [...rows]);
    await page.locator("#confirm").click();
    await said(page).getByText(says).waitFor();
  }
  expect((await animals()).map(({ externalId, status }) => `${externalId} ${status}`)).toEqual(
    ids.map((id, index) => `${id} ${index === 0 ? "sold" : "available"}`),
  );
  await find(page, "Name or number", ids[1] ?? "");
  await expect.poll(() => page.locator(".rows > li b").allInnerTexts()).toEqual([ids[1]]);
  const { order } = await store().orders.place({ petId: (await animals())[1]?.id ?? 0 });
  await choose("externalId,status", [`${ids[1]},sold`, `${ids[2]},sold`]);
  await page.locator("#confirm").click();
  await alerted(page).getByText(`0 animals added, 1 changed, 0 as before, 1 refused. ${ids[1]}: `).waitFor();
  await store().orders.cancel(order.id);
  for (const isKnown of [false, true]) {
    await choose("status", ["", ""]);
    await expect.poll(() => page.getByText("This browser added this file before").count()).toBe(Number(isKnown));
    await page.locator("#confirm").click();
    await said(page).getByText("Added 2 animals.").waitFor();
  }
});

test("a CSV file written by any spreadsheet is read, and finds categories as the search does", async () => {
  const place = crypto.randomUUID();
  for (const name of ["Caf\u00E9", "Stra\u00DFe", "Twin", "Tw\u00EDn"])
    await store().categories.create({ name: `${name} ${place}` });
  const { page } = await openConsole("animals", { expectsFaults: true });
  await page.getByRole("button", { name: "Add many" }).click();
  const preview = page.locator("form p", { hasText: /can be added/ }).first();
  const choose = async (text: string) => {
    const name = `${crypto.randomUUID()}.csv`;
    await page.locator("[type=file]").setInputFiles({ name, mimeType: "text/csv", buffer: Buffer.from(text) });
    return `${name}: 2 animals can be added: Rex, "R", Max`;
  };
  for (const [written, file] of Object.entries(SPREADSHEETS)) {
    for (const category of [`Cafe\u0301 ${place}`, `STRASSE ${place.toUpperCase()}`, `Tw\u00EDn ${place}`]) {
      const text = await choose(file(category));
      await expect.poll(() => preview.innerText(), { message: `${written}: ${category}` }).toBe(text);
    }
  }
  await choose(`sep=;\nname;category\n"Rex" ;Caf\u00E9 ${place}\nMax;TWIN ${place}\n"A\u0301" ; ${"a".repeat(300)}\n`);
  await refuses(page, [
    `Row 3: Several categories are called TWIN ${place}. Give the number of one.`,
    `Row 4: There is no category ${"a".repeat(300)}. Add it first.`,
  ]);
  // As long as a file may be, and more marks than a regular expression can go back over.
  await choose(`name,category\n"${'""'.repeat(4_000_000)}",1\nOk,1,,\n`);
  await refuses(page, ["Row 2: The name has more than 255 characters."]);
  await choose('name,category\n"Rex" the dog,1\n');
  await alerted(page).getByText("Row 2 has a quotation mark in the wrong place.").waitFor();
});

test("the file that was chosen last is added, as it was then", async () => {
  const { page } = await openConsole("animals");
  await page.getByRole("button", { name: "Add many" }).click();
  const input = page.locator("[type=file]");
  const preview = page.locator("form p", { hasText: /can be added/ }).first();
  const file = join(temporaryFolder(onTestFinished), "pets.csv");
  const browser = await page.context().newCDPSession(page);
  await browser.send("Page.enable");
  await browser.send("Page.setInterceptFileChooserDialog", { enabled: true });
  // As the dialog does. Playwright would tell the page also of a file that it has already.
  browser.on("Page.fileChooserOpened", ({ backendNodeId = 0 }) => {
    void browser.send("DOM.setFileInputFiles", { files: [file], backendNodeId });
  });
  for (const name of ["Rex", "Max"]) {
    writeFileSync(file, `name,category\n${name},7\n`);
    await input.click();
    await preview.getByText(`1 animal can be added: ${name}`).waitFor();
  }
  const { promise: released, resolve: release } = Promise.withResolvers<void>();
  await page.route("**/v1/categories*", (route) => released.then(() => route.continue()));
  const asked = page.waitForRequest(/categories/);
  for (const name of ["first", "second"])
    await input.setInputFiles({ name, mimeType: "text/csv", buffer: Buffer.from(`name,category\n${name},7\n`) });
  await asked;
  release();
  await expect.poll(() => preview.innerText()).toBe("second: 1 animal can be added: second");
});

test("the feed shows what happens as it happens, and what happened to an animal", async () => {
  const { category } = await store().categories.create({ name: "Watch dogs" });
  const { animal } = await store().pets.create({ name: "Watched", categoryId: category.id });
  const { order } = await store().orders.place({ petId: animal.id });
  const { page } = await openConsole("animals?q=Watched");
  let readPast: (() => void) | undefined;
  const isPast = (url: URL) => url.pathname === "/v1/events" && !url.searchParams.has("cursor");
  await page.route(isPast, (route) => void (readPast = () => void route.continue()));
  await page.getByRole("link", { name: "History of Watched" }).click();
  await expect.poll(() => readPast !== undefined).toBe(true);
  await placeOrder("Another");
  await store().orders.ship(order.id);
  await page.locator(".live").getByText("Animal changed").waitFor({ timeout: 20_000 });
  readPast?.();
  const named = `animal ${animal.id} (Watched)`;
  const sorted = `${named}, category ${category.id} (Watch dogs)`;
  // The past comes a page at a time.
  const events = async () =>
    (await page.locator(".rows > li > div").allInnerTexts()).map((text) => text.split("\n")[0]?.trim());
  await expect
    .poll(events)
    .toEqual([
      `Animal changed: ${sorted}, sold`,
      `Order shipped: order ${order.id}, ${named}, shipped`,
      `Animal changed: ${sorted}, pending`,
      `Order placed: order ${order.id}, ${named}, placed`,
      `Animal added: ${sorted}, available`,
    ]);
  await page.getByLabel("Type").selectOption("order.shipped");
  await expect.poll(() => page.locator(".rows > li").count()).toBe(1);
  expect(page.url()).toContain(`animal=${animal.id}`);
  // The past is read to its end.
  await page.getByRole("button", { name: "Refresh" }).waitFor();
  // It holds the newest thousand of what it hears, and says so.
  expect(await page.getByText("This is not all").count()).toBe(0);
  await store().pets.createMany(Array.from({ length: 1_000 }, () => ({ name: "Busy", categoryId: 1 })));
  await page.getByText("This is not all").waitFor();
  await page.getByRole("button", { name: "Read on" }).click();
  await page.getByText("This is not all").waitFor({ state: "hidden" });
  await write("DELETE FROM pets WHERE name = 'Busy'");
});

test("a webhook says why it does not deliver, and is tested, replayed and rotated", async () => {
  let status = 500;
  const receiver = await serve((_request, response) => response.writeHead(status).end());
  const { webhook } = await store().webhooks.create({ url: receiver, types: ["order.placed"] });
  const { page } = await openConsole("webhooks", { expectsFaults: true });
  const row = page.locator(`#webhook-${webhook.id}`);
  await row.getByText("Not of: Animal added").waitFor();
  await row.getByRole("button", { name: "Deliveries" }).click();
  await row.getByText("Nothing was delivered yet").waitFor();
  const { order } = await placeOrder("Unheard");
  const hasFailed = async () => (await store().webhooks.deliveries(webhook.id)).deliveries[0]?.response === 500;
  await expect.poll(hasFailed, { timeout: 30_000 }).toBe(true);
  await page.getByRole("button", { name: "Refresh" }).click();
  const line = row.locator(".deliveries").getByText(`pending Order placed: order ${order.id}, `);
  await line.getByText("answered 500").waitFor();
  await row.getByRole("button", { name: "Test" }).click();
  await alerted(page).getByText("The receiver answered 500").waitFor();
  status = 204;
  await row.getByRole("button", { name: "Test" }).click();
  await said(page).getByText("The receiver answered 204").waitFor();
  await row.getByRole("button", { name: "Replay" }).click();
  await row.locator("#confirm").click();
  await said(page).getByText("delivers again").waitFor();
  expect(await page.getByText("whsec_").count()).toBe(0);
  await row.getByRole("button", { name: "Show secret" }).click();
  const secret = await page.getByText("The secret is whsec_").innerText();
  // A second rotation would drop the secret that the receiver has.
  const isRotation = (url: URL) => url.pathname.endsWith("/rotate-secret");
  await page.route(isRotation, (route) => route.abort());
  await row.getByRole("button", { name: "Rotate secret" }).click();
  await row.locator("#confirm").click();
  await alerted(page).getByText("There may be a new secret: press Show secret").waitFor();
  expect(await alerted(page).innerText()).not.toContain("Try again");
  await page.unroute(isRotation);
  await row.locator("#confirm").click();
  await said(page).getByText("The new secret is whsec_").waitFor();
  expect(await said(page).innerText()).not.toContain(secret.slice(-20));
  await row.getByRole("button", { name: "Disable" }).click();
  await row.getByText("It delivers nothing").waitFor();
  await page.getByRole("button", { name: "Undo" }).click();
  await row.getByRole("button", { name: "Disable" }).waitFor();
  await store().webhooks.delete(webhook.id);
});

test("of a feed that is too long to read at once, nothing is skipped without a word", async () => {
  const { webhook } = await store().webhooks.create({ url: "https://hooks.example.com/", types: ["order.placed"] });
  const { page } = await openConsole("orders", { expectsFaults: true });
  // A past that does not end, and comes to the present after 120 events.
  let place = 0;
  const isPast = ({ pathname, searchParams }: URL) =>
    pathname === "/v1/events" && (searchParams.get("cursor") ?? "past").startsWith("past");
  await page.route(isPast, (route) => {
    const timestamp = place < 120 ? "2026-01-01T12:00:00.000Z" : new Date().toISOString();
    const events = [{ id: `0-${(place += 1)}`, type: "pet.deleted", timestamp, version: 2, data: { id: 1 } }];
    return route.fulfill({ json: { events, cursor: `past-${place}`, more: true } });
  });
  const open = (part: string) =>
    page.getByRole("navigation", { name: "Console" }).getByRole("link", { name: part }).click();
  await open("Feed");
  // Where the reading ended: a replay that comes before would wait for this reading, and not read on.
  await page.getByText("This is not all: the feed is read up to 1 Jan 2026").waitFor();
  const { order } = await placeOrder("Beyond");
  await page.locator(".rows").getByText(`Order placed: order ${order.id}`).waitFor({ timeout: 20_000 });
  await open("Webhooks");
  const row = page.locator(`#webhook-${webhook.id}`);
  await row.getByRole("button", { name: "Replay" }).click();
  // By the keyboard: what arrives meanwhile may move the button between the press and the release of a mouse.
  await row.locator("#confirm").press("Enter");
  await alerted(page).getByText("The feed is long").waitFor();
  expect((await store().webhooks.state(webhook.id)).replay).toBeUndefined();
  const replay = page.waitForRequest(/\/replay$/);
  await row.locator("#confirm[aria-disabled=false]").press("Enter");
  expect((await replay).postDataJSON()).toEqual({ cursor: "past-120" });
  await store().webhooks.delete(webhook.id);
  await open("Feed");
  await page.unroute(isPast);
  await page.route(isPast, (route) => route.fulfill({ status: 400, json: { error: "bad_request" } }));
  await page.getByRole("button", { name: "Refresh" }).click();
  await alerted(page).filter({ hasText: /./ }).waitFor();
  await page.getByText("This is not all").waitFor();
});

test("the numbers of the last hours and days agree with the service", async () => {
  const { order } = await placeOrder("Counted");
  await store().orders.ship(order.id);
  const placed = await store().orders.list().all(1_000);
  const { page } = await openConsole("numbers");
  const { inventory } = await store().orders.inventory();
  for (const [status, count] of Object.entries(inventory))
    await page.getByRole("row", { name: `${status} ${count}` }).waitFor();
  const count = (state: string) => String(placed.filter(({ status }) => status === state).length);
  const cells = [String(placed.length), count("shipped"), count("placed"), count("cancelled")];
  const rows = page.locator("tbody").first().locator("tr");
  expect(await rows.count()).toBe(9);
  for (const row of [0, 1]) expect((await rows.nth(row).locator("td").allInnerTexts()).slice(1, 5)).toEqual(cells);
  await page.getByRole("link", { name: "Last 7 days" }).click();
  await page.locator(`#order-${order.id}`).waitFor();
});

test("offline it says so, and goes on when it is back", async () => {
  const { page } = await openConsole("orders", { expectsFaults: true });
  await page.context().setOffline(true);
  await page.getByText("You are offline.").waitFor();
  const { row } = await placeOrder("Meanwhile");
  await page.context().setOffline(false);
  await page.locator(row).waitFor();
  expect(await page.getByText("You are offline.").count()).toBe(0);
});

test("nothing is wider than a phone, and an animal is on its first screen", async () => {
  await placeOrder("Long".repeat(60), { reference: "r".repeat(255), customer: "c".repeat(255) });
  for (const part of ["orders", "animals", "feed", "webhooks", "numbers"]) {
    const { page } = await openConsole(part, { viewport: PHONE, hasTouch: true });
    expect(await page.evaluate(() => document.documentElement.scrollWidth), part).toBeLessThanOrEqual(PHONE.width);
    if (part !== "animals") continue;
    const { y = Infinity, height = 0 } = (await page.locator(".rows > li").first().boundingBox()) ?? {};
    expect(y + height).toBeLessThan(PHONE.height);
    expect(await page.getByRole("button", { name: "Add an animal" }).isVisible()).toBe(false);
    // Turned, the menu opens too.
    await page.setViewportSize({ width: PHONE.height, height: PHONE.width });
    await page.getByText("Add animals or a category").click();
    await page.getByRole("button", { name: "Add an animal" }).waitFor();
  }
});

test("the orders of a day are downloaded for a spreadsheet, and printed", async () => {
  const big = 9_007_199_254_740_993n;
  // The clocks of Cairo go forward at the midnight with which this day begins.
  const time = "2026-04-24T12:00:00.000Z";
  await write(`INSERT INTO pets (id, name, category_id, status) VALUES (${big}, '=K\u00E4se "1"', 1, 'sold')`);
  await write(`INSERT INTO orders (id, pet_id, status, created_at, reference, customer) VALUES
    (${big}, ${big}, 'cancelled', '${time}', '+1,' || char(13) || '2', '@c'),
    (${big} - 1, ${big}, 'cancelled', '2026-04-24T21:00:00.000Z', NULL, NULL)`);
  const { page } = await openConsole("orders?from=2026-04-24&to=2026-04-24", {
    timezoneId: "Africa/Cairo",
    prepare: (page) => page.addInitScript("window.print = () => document.body.classList.add('printed')"),
  });
  const downloading = page.waitForEvent("download");
  await page.getByRole("button", { name: "Download as CSV" }).click();
  const stream = await (await downloading).createReadStream();
  const zone = "(Africa/Cairo)";
  const columns = ["order", "status", `placed ${zone}`, `shipped ${zone}`, "animal", "name", "customer", "reference"];
  expect(Buffer.concat(await stream.toArray()).toString()).toBe(
    `\uFEFF"${columns.join('","')}"\r\n"${big}","cancelled","2026-04-24 15:00:00","","${big}","'=K\u00E4se ""1""","'@c","'+1,\r2"\r\n`,
  );
  await page.getByRole("button", { name: "Print" }).click();
  await page.locator("body.printed").waitFor();
  await page.emulateMedia({ media: "print" });
  expect(await page.locator("tr:visible").allInnerTexts()).toEqual([
    columns.join("\t"),
    `${big}\tcancelled\t2026-04-24 15:00:00\t\t${big}\t=K\u00E4se "1"\t@c\t+1, 2`,
  ]);
  expect(await page.locator("main:visible").count()).toBe(0);
});

test("of 2,000 orders, a page shows the oldest 50, the next ones on demand, and any by its number", async () => {
  const numbers = "WITH RECURSIVE n (i) AS (SELECT 100001 UNION ALL SELECT i + 1 FROM n WHERE i < 102000)";
  await write(`${numbers} INSERT INTO pets (id, name, category_id, status)
    SELECT i, 'Many ' || (i - 100000), 1, 'pending' FROM n`);
  await write(`${numbers} INSERT INTO orders (id, pet_id, status, created_at)
    SELECT i, i, 'placed', '2026-01-01T00:00:00.000Z' FROM n`);
  const { page } = await openConsole("orders");
  const count = () => page.locator(".rows > li").count();
  expect(await count()).toBe(50);
  const more = page.getByRole("button", { name: "Show 50 more" });
  while ((await more.count()) > 0) {
    const before = await count();
    await more.click();
    await expect.poll(count, { timeout: 30_000 }).toBeGreaterThan(before);
  }
  expect(await count()).toBeGreaterThanOrEqual(2_000);
  await ship(page.locator("#order-102000"));
  await said(page).getByText("Order 102000 is shipped.").waitFor();
  await find(page, "Number, animal, reference or customer", "101999");
  await page.locator("#order-101999").getByText("Many 1999").waitFor();
  for (const table of ["orders", "pets"]) await write(`DELETE FROM ${table} WHERE id > 100000`);
});

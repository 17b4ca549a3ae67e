import type { Page } from "playwright-core";
import { expect, test } from "vitest";
import { GUIDES, sourceOf } from "../../openapi/sources.ts";
import { ERRORS } from "../../src/errors.ts";
import { ORDER_STATUSES } from "../../src/orders/table.ts";
import { readPage } from "../commands/documentation/page.ts";
import { DESKTOP, openPage, openReference, origins, PHONE } from "./chromium.ts";

/** Of the page, where some of the functions below run. */
declare const getComputedStyle: (element: unknown) => { color: string; fill: string; opacity: string };

const names = Object.keys(GUIDES);

const CONFLICTS = Object.entries(ERRORS).flatMap(([code, { status }]) =>
  status === 409 ? `/docs/errors#${code}` : [],
);

/** What new users enter, and the places that answer it. */
const ANSWERS: [question: string, places: string[]][] = [
  ["buy", ["/docs/orders", "/docs/reference#tag/store/POST/store/orders"]],
  ["mobile app", ["/docs/browsers"]],
  ["GDPR", ["/docs/browsers#the-customer-of-an-order"]],
  ["webhook", ["/docs/webhooks"]],
  ["webhooks", ["/docs/webhooks"]],
  ["tunnel", ["/docs/client#a-receiver-on-your-machine"]],
  ["bulk", ["/docs/guarantees#many-animals-in-one-request", "/docs/reference#tag/pets/PATCH/pets/batch"]],
  ["paging", ["/docs/guarantees#order-and-pages"]],
  ["409", CONFLICTS],
  ["conflict", CONFLICTS],
  ["pet_on_order", ["/docs/errors#pet_on_order"]],
  ["how to sell", ["/docs/orders"]],
  ["how to sell an animal", ["/docs/orders"]],
  ["keep a copy", ["/docs/events"]],
  ["import a file", ["/docs/imports"]],
  ["what a 409 means", CONFLICTS],
  ["limits", ["/docs/keys#limits"]],
  ["rotate a key", ["/docs/keys#a-new-key"]],
  ["php", ["/docs/languages"]],
  ["exact ids", ["/docs/guarantees#exact-data"]],
  ["install the client", ["/docs/client#install"]],
  ["quick start", ["/docs#quick-start"]],
  ["place an order", ["/docs/reference#tag/store/POST/store/orders"]],
  ["complete", ["/docs/reference#schemas/Order.complete"]],
  ["expiresat", ["/docs/reference#schemas/Token.expiresAt", "/docs/reference#schemas/Key.expiresAt"]],
  ["if-none-match", ["/docs/guarantees#preconditions"]],
  ["include", ["/docs/reference#tag/pets/GET/pets.query.include"]],
  [
    "idempotnecy",
    ["/docs/guarantees#created-exactly-once", "/docs/reference#tag/pets/POST/pets.headers.Idempotency-Key"],
  ],
  ["update an animal", ["/docs/reference#tag/pets/PATCH/pets/{petId}"]],
  ["export all", ["/docs/events"]],
  ["search by name", ["/docs/reference#tag/pets/GET/pets"]],
  ["python", ["/docs/books#python"]],
  ["go", ["/docs/books#go"]],
  ["cors", ["/docs/errors#order-of-checks"]],
  ["date format", ["/docs/reference#schemas/OrderPatch.shipDate"]],
  ["sandbox", ["/docs/keys#getting-a-key"]],
  // What is not offered, in words of somebody who did not write the pages.
  ["refund", ["/docs/not-offered#refunds-and-returns"]],
  ["give the money back", ["/docs/not-offered#refunds-and-returns"]],
  ["customer returns an animal", ["/docs/not-offered#refunds-and-returns"]],
  ["payment", ["/docs/not-offered#payments-and-prices"]],
  ["pay with a credit card", ["/docs/not-offered#payments-and-prices"]],
  ["price of an animal", ["/docs/not-offered#payments-and-prices"]],
  ["photo", ["/docs/not-offered#photos-and-files"]],
  ["upload a picture", ["/docs/not-offered#photos-and-files"]],
  ["login", ["/docs/not-offered#logins-and-passwords"]],
  ["forgot my password", ["/docs/not-offered#logins-and-passwords"]],
  ["undo", ["/docs/not-offered#undo"]],
  ["restore a deleted animal", ["/docs/not-offered#undo"]],
  ["track a parcel", ["/docs/not-offered#addresses-carriers-and-mail"]],
  ["send an email to the customer", ["/docs/not-offered#addresses-carriers-and-mail"]],
  ["reserve an animal", ["/docs/not-offered#quantities-and-reservations", "/docs/orders"]],
  ["offline", ["/docs/offline"]],
  ["postman", ["/docs/versioning#generated-clients"]],
  ["nodejs", ["/docs/client", "/docs/client#install"]],
  [
    "create several animals at once",
    [
      "/docs/guarantees#many-animals-in-one-request",
      "/docs/reference#tag/pets/POST/pets/batch",
      "/docs/client#many-animals",
    ],
  ],
  [
    "sort by newest",
    ["/docs/guarantees#order-and-pages", "/docs/reference#tag/pets/GET/pets.query.sort", "/docs/client#pages"],
  ],
  [
    "polling",
    [
      "/docs/browsers#list-poll-or-listen",
      "/docs/events",
      "/docs/events#the-loop",
      "/docs/events#a-job",
      "/docs/client#following-changes",
    ],
  ],
  ["openapi spec", ["/docs/versioning#generated-clients", "/docs/reference#description/introduction"]],
  ["partial update", ["/docs/reference#tag/pets/PATCH/pets/{petId}", "/docs/guarantees#changed-exactly-once"]],
  ["mark an order as shipped", ["/docs/reference#tag/store/PATCH/store/orders/{orderId}", "/docs/orders#states"]],
  ["lost response", ["/docs/guarantees#created-exactly-once", "/docs/client#retries"]],
  ["accounting", ["/docs/books"]],
  ["webhook retries", ["/docs/webhooks#failures"]],
  [
    "missed events",
    [
      "/docs/webhooks#a-failed-event",
      "/docs/reference#tag/webhooks/POST/webhooks/{webhookId}/replay",
      "/docs/events#when-the-cursor-has-expired",
      "/docs/events#crashes",
    ],
  ],
  ["two customers buy the same animal", ["/docs/orders#races", "/docs/shop"]],
  ["mcp", ["/docs/agents", "/docs/agents#settings"]],
  ["ai agent", ["/docs/agents", "/docs/agents#a-key-for-an-agent"]],
  ["connect claude", ["/docs/agents", "/docs/agents#settings"]],
  ["llms.txt", ["/docs/agents#pages-for-models"]],
  ["prompt injection", ["/docs/agents#what-it-must-not-believe"]],
  ["support request id", ["/docs/errors", "/docs/errors#internal_error"]],
];

test.each(names)("the links of the guide %s exist", async (guide) => {
  const { page } = await openPage(`/docs/${guide}`);
  expect(await page.locator("h1").count()).toBe(1);
  // Operators have pages of their own, in the repository.
  expect(await page.locator("article").innerText()).not.toMatch(/npm run (--silent )?(keys|release)/);
  const links: string[] = await page.locator("a").evaluateAll((list) => list.map((link) => Reflect.get(link, "href")));
  for (const link of new Set(links.filter((target) => target.startsWith(origins.loopback)))) {
    const response = await fetch(link);
    expect(response.status, link).toBe(200);
    const { hash, pathname } = new URL(link);
    // The renderer makes the sections of the reference.
    if (hash !== "" && pathname !== "/docs/reference")
      expect(await response.text(), link).toContain(`id="${hash.slice(1)}"`);
  }
  const contents = page.getByRole("navigation", { name: "On this page" }).getByRole("link");
  expect(await contents.allInnerTexts()).toEqual(await page.locator("h2").allInnerTexts());
});

test("one navigation is at the side of every page, and names each page once", async () => {
  for (const path of ["/docs", "/docs/orders", "/docs/nothing"]) {
    const { page } = await openPage(path, { expectsFaults: path === "/docs/nothing" });
    const navigation = page.getByRole("navigation", { name: "Documentation" });
    const titles = await navigation.getByRole("link").allInnerTexts();
    expect(titles).toEqual([...new Set(titles)]);
    expect(titles).toEqual(expect.arrayContaining(["Pets", "Webhooks", ...Object.values(GUIDES)]));
    for (const link of await navigation.getByRole("link").all()) {
      const box = await link.boundingBox();
      expect((box?.y ?? 0) + (box?.height ?? Infinity)).toBeLessThanOrEqual(DESKTOP.height);
    }
  }
  // Its links lead to the sections that the renderer makes.
  await openReference("/docs/reference#tag/webhooks");
});

test.each(names)("the guide %s is not wider than a phone", async (guide) => {
  const { page } = await openPage(`/docs/${guide}`, { viewport: PHONE, colorScheme: "dark" });
  const width: number = await page.evaluate("document.documentElement.scrollWidth");
  expect(width).toBeLessThanOrEqual(PHONE.width);
  expect(await countCutOff(page)).toBe(0);
  // The button opens the navigation, which names the page that is open.
  const current = page.locator("#all-pages [aria-current=page]");
  expect(await current.isVisible()).toBe(false);
  await page.getByRole("button", { name: "Menu" }).click();
  expect(await current.innerText()).toBe(GUIDES[guide as keyof typeof GUIDES]);
  const shown = await page.locator("#all-pages").boundingBox();
  expect((shown?.x ?? -1) + (shown?.width ?? Infinity)).toBeLessThanOrEqual(PHONE.width);
  await page.keyboard.press("Escape");
  expect(await current.isVisible()).toBe(false);
});

/** Blocks of code with a line that is wider than the block. */
const countCutOff = (page: Page): Promise<number> =>
  page.locator("pre").evaluateAll((all) => all.filter((one) => one.scrollWidth > one.clientWidth).length);

test.each(names)("the code of the guide %s fits, and a reader copies it without what it prints", async (guide) => {
  const { page } = await openPage(`/docs/${guide}`);
  expect(await countCutOff(page)).toBe(0);
  const blocks = await page.locator("article .code").all();
  expect(blocks.length).toBe(await page.locator("article pre:not(.output)").count());
  const copied: string[] = [];
  for (const block of blocks) {
    const copy = block.getByRole("button", { name: "Copy" });
    expect(await copy.evaluate((button) => getComputedStyle(button).opacity)).toBe("1");
    await copy.click();
    await block.getByRole("button", { name: "Copied" }).waitFor();
    copied.push(await page.evaluate("navigator.clipboard.readText()"));
  }
  const sections = readPage(sourceOf(guide)).sections;
  for (const { text, prints } of sections.flatMap(({ commands }) => commands)) {
    const named = text.replaceAll("https://petstore.example", origins.loopback);
    const block = copied.find((code) => code.includes(named)) ?? "";
    expect(block).toContain(named);
    expect(block).not.toMatch(/^\$ /m);
    if (prints !== undefined) expect(block).toBe(named);
  }
});

test("a guide has the colours that the reader chose in the reference", async () => {
  const { page } = await openPage("/docs/reference");
  await page.getByRole("button", { name: /dark mode/i }).click();
  await page.goto(`${origins.loopback}/docs/errors`);
  expect(await page.evaluate("getComputedStyle(document.body).backgroundColor")).toBe("rgb(15, 15, 15)");
});

test.each([DESKTOP, PHONE])("the states of an order are drawn ($width px)", async (viewport) => {
  for (const colorScheme of ["light", "dark"] as const) {
    const { page } = await openPage("/docs/orders", { viewport, colorScheme });
    const drawing = page.getByRole("img", { name: "The states of an order" });
    const states = await drawing.locator(".node text").allTextContents();
    expect(states.toSorted()).toEqual(ORDER_STATUSES.toSorted());
    const box = await drawing.boundingBox();
    expect(box?.x).toBeGreaterThanOrEqual(0);
    expect((box?.x ?? 0) + (box?.width ?? Infinity)).toBeLessThanOrEqual(viewport.width);
    const colour = await drawing
      .locator("text")
      .first()
      .evaluate((text) => getComputedStyle(text).fill);
    expect(colour).toBe(colorScheme === "dark" ? "rgb(231, 231, 231)" : "rgb(27, 27, 27)");
    expect(await page.locator("article").innerText()).not.toContain("stateDiagram");
  }
});

// Promise: codes-are-explained
test("every error code has an anchor with its status, its condition and advice", async () => {
  const { page } = await openPage("/docs/errors");
  for (const [code, { status }] of Object.entries(ERRORS)) {
    const heading = page.locator(`h3#${code}`);
    expect(await heading.innerText()).toBe(code);
    expect(await heading.locator("+ p").innerText(), code).toMatch(new RegExp(`^${status} \\S`));
    expect(await heading.locator("+ p + p").count(), code).toBe(1);
    await page.getByRole("listitem").getByRole("link", { name: code, exact: true }).click();
    await expect.poll(() => new URL(page.url()).hash).toBe(`#${code}`);
  }
});

const search = (page: Page) => page.getByRole("combobox", { name: "Search the reference and the guides" });
const first = (page: Page) => page.locator("#results a:first-child[aria-selected=true]");

test.each([DESKTOP, PHONE])("the first result answers each question on every page ($width px)", async (viewport) => {
  for (const [path, open] of [
    ["/docs/keys", openPage],
    ["/docs/reference", openReference],
  ] as const) {
    const { page } = await open(path, { viewport, hasTouch: viewport === PHONE });
    await page.getByRole("button", { name: "Search" }).click();
    for (const [question, places] of ANSWERS) {
      await search(page).fill(question);
      await first(page).waitFor();
      expect(places, question).toContain(await first(page).getAttribute("href"));
      const box = await page.getByRole("dialog").boundingBox();
      expect((box?.x ?? Infinity) + (box?.width ?? 0)).toBeLessThanOrEqual(viewport.width);
    }
    await search(page).fill("409");
    const shown = await page.locator("#results a").evaluateAll((all) => all.map((one) => one.getAttribute("href")));
    expect(new Set(shown.slice(0, CONFLICTS.length))).toEqual(new Set(CONFLICTS));
  }
});

test("Enter opens the first result, also of words typed at once", async () => {
  const { page } = await openPage("/docs/versioning");
  await page.keyboard.press("ControlOrMeta+K");
  await page.keyboard.type("rotate a key");
  await page.keyboard.press("Enter");
  await expect.poll(() => page.url(), { timeout: 30_000 }).toBe(`${origins.loopback}/docs/keys#a-new-key`);
});

test("on the reference, Enter scrolls to an operation, a parameter or a field", async () => {
  const { page } = await openReference("/docs/reference");
  for (const [question, places] of ANSWERS.filter(([, [place]]) => place?.startsWith("/docs/reference#"))) {
    await page.keyboard.press("ControlOrMeta+K");
    await search(page).fill(question);
    await page.keyboard.press("Enter");
    await page.getByRole("dialog").waitFor({ state: "hidden" });
    const target = page.locator(`#reference [id$="${places[0]?.split("#")[1]}"]`).first();
    await expect
      .poll(async () => Math.abs(((await target.boundingBox())?.y ?? Infinity) - DESKTOP.height / 2), {
        timeout: 30_000,
      })
      .toBeLessThan(DESKTOP.height / 2);
  }
});

test("the arrows choose a result, and Escape gives the focus back", async () => {
  const { page } = await openPage("/docs/keys");
  const button = page.getByRole("button", { name: "Search" });
  await button.focus();
  await page.keyboard.press("Enter");
  await page.keyboard.type("key");
  const chosen = page.getByRole("option", { selected: true });
  const places = page.locator("#results a");
  await chosen.waitFor();
  for (const [key, place] of [
    ["ArrowDown", 1],
    ["ArrowDown", 2],
    ["ArrowUp", 1],
    ["ArrowUp", 0],
    ["ArrowUp", -1],
  ] as const) {
    await page.keyboard.press(key);
    expect(await chosen.getAttribute("href")).toBe(await places.nth(place).getAttribute("href"));
    expect(await search(page).getAttribute("aria-activedescendant")).toBe(await chosen.getAttribute("id"));
  }
  await search(page).fill("xyzzy");
  await page.getByText("No results").waitFor();
  expect(await search(page).getAttribute("aria-expanded")).toBe("false");
  await page.keyboard.press("Enter");
  await page.keyboard.press("Escape");
  await page.keyboard.press("Escape");
  await page.getByRole("dialog").waitFor({ state: "hidden" });
  expect(await button.evaluate("document.activeElement.id")).toBe("open-search");
  expect(new URL(page.url()).pathname).toBe("/docs/keys");
});

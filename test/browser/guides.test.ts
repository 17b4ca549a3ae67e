import type { Page } from "playwright-core";
import { expect, test } from "vitest";
import { GUIDES } from "../../openapi/guides.ts";
import { ERRORS } from "../../src/errors.ts";
import { ORDER_STATUSES } from "../../src/orders/table.ts";
import { readPage } from "../commands/documentation/page.ts";
import { DESKTOP, openPage, origins, PHONE, SCREENSHOTS } from "./chromium.ts";

/** Of the page, where some of the functions below run. */
declare const getComputedStyle: (element: unknown) => { color: string; fill: string; opacity: string };

const names = Object.keys(GUIDES);

test.each(names)("the links of the guide %s exist", async (guide) => {
  const { page, faults } = await openPage(`/docs/${guide}`);
  expect(await page.locator("h1").count()).toBe(1);
  // Operators have pages of their own, in the repository.
  expect(await page.locator("article").innerText()).not.toMatch(/npm run (--silent )?(keys|release)/);
  const links: string[] = await page.locator("a").evaluateAll((list) => list.map((link) => Reflect.get(link, "href")));
  for (const link of new Set(links.filter((target) => target.startsWith(origins.loopback)))) {
    const response = await fetch(link);
    expect(response.status, link).toBe(200);
    const { hash } = new URL(link);
    if (hash !== "") expect(await response.text(), link).toContain(`id="${hash.slice(1)}"`);
  }
  const contents = page.getByRole("navigation", { name: "On this page" }).getByRole("link");
  expect(await contents.allInnerTexts()).toEqual(await page.locator("h2").allInnerTexts());
  await page.screenshot({ path: `${SCREENSHOTS}/${guide}.png` });
  expect(faults).toEqual([]);
  await page.context().close();
});

test.each(names)("the guide %s is not wider than a phone", async (guide) => {
  const { page, faults } = await openPage(`/docs/${guide}`, { viewport: PHONE, colorScheme: "dark" });
  const width: number = await page.evaluate("document.documentElement.scrollWidth");
  expect(width).toBeLessThanOrEqual(PHONE.width);
  expect(await countCutOff(page)).toBe(0);
  // The bar scrolls to the page that is open.
  const entry = await page.locator("[aria-current=page]").boundingBox();
  expect(entry?.x).toBeGreaterThanOrEqual(0);
  expect((entry?.x ?? 0) + (entry?.width ?? Infinity)).toBeLessThanOrEqual(PHONE.width);
  await page.screenshot({ path: `${SCREENSHOTS}/${guide}-phone-dark.png` });
  expect(faults).toEqual([]);
  await page.context().close();
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
  for (const { text, prints } of readPage(`docs/${guide}.md`).sections.flatMap(({ commands }) => commands)) {
    const [block] = copied.filter((code) => code.includes(text));
    expect(block, text).not.toMatch(/^\$ /m);
    if (prints !== undefined) expect(block).toBe(text);
  }
  await page.context().close();
});

test("code is coloured, in both modes", async () => {
  const colours: string[] = [];
  for (const colorScheme of ["light", "dark"] as const) {
    const { page } = await openPage("/docs/orders", { colorScheme });
    const command = page.locator("pre span", { hasText: /^curl$/ }).first();
    colours.push(await command.evaluate((one) => getComputedStyle(one).color));
    await page.context().close();
  }
  expect(colours).toEqual(["rgb(107, 63, 176)", "rgb(203, 168, 255)"]);
});

test("a guide has the colours that the reader chose in the reference", async () => {
  const { page } = await openPage("/docs");
  await page.getByRole("button", { name: /dark mode/i }).click();
  await page.goto(`${origins.loopback}/docs/errors`);
  expect(await page.evaluate("getComputedStyle(document.body).backgroundColor")).toBe("rgb(15, 15, 15)");
  await page.context().close();
});

test.each([DESKTOP, PHONE])("the states of an order are drawn ($width px)", async (viewport) => {
  for (const colorScheme of ["light", "dark"] as const) {
    const { page, faults } = await openPage("/docs/orders", { viewport, colorScheme });
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
    expect(faults).toEqual([]);
    await page.context().close();
  }
});

test("every error code has an anchor with its status, its condition and advice", async () => {
  const { page } = await openPage("/docs/errors");
  for (const [code, { status }] of Object.entries(ERRORS)) {
    const heading = page.locator(`h3#${code}`);
    expect(await heading.innerText()).toBe(code);
    expect(await heading.locator("+ p").innerText(), code).toMatch(new RegExp(`^${status} \\S`));
    expect(await heading.locator("+ p + p").count(), code).toBe(1);
    await page.locator("table").getByRole("link", { name: code, exact: true }).click();
    expect(new URL(page.url()).hash).toBe(`#${code}`);
  }
  await page.context().close();
});

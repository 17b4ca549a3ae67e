import { expect, test } from "vitest";
import { GUIDES } from "../../openapi/guides.ts";
import { openPage, origins, PHONE, SCREENSHOTS } from "./chromium.ts";

const names = Object.keys(GUIDES);

test.each(names)("the links of the guide %s exist", async (guide) => {
  const { page, faults } = await openPage(`/docs/${guide}`);
  expect(await page.locator("h1").count()).toBe(1);
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
  // The bar scrolls to the page that is open.
  const entry = await page.locator("[aria-current=page]").boundingBox();
  expect(entry?.x).toBeGreaterThanOrEqual(0);
  expect((entry?.x ?? 0) + (entry?.width ?? Infinity)).toBeLessThanOrEqual(PHONE.width);
  await page.screenshot({ path: `${SCREENSHOTS}/${guide}-phone-dark.png` });
  expect(faults).toEqual([]);
  await page.context().close();
});

test.each(names)("each code block of the guide %s can be copied", async (guide) => {
  const { page } = await openPage(`/docs/${guide}`);
  const blocks = page.locator("article .code");
  expect(await blocks.count()).toBe(await page.locator("article pre").count());
  for (const block of await blocks.all()) {
    await block.hover();
    await block.getByRole("button", { name: "Copy" }).click();
    await block.getByRole("button", { name: "Copied" }).waitFor();
    expect(await page.evaluate("navigator.clipboard.readText()")).toBe(await block.locator("pre").textContent());
  }
  await page.context().close();
});

test("a guide has the colours that the reader chose in the reference", async () => {
  const { page } = await openPage("/docs");
  await page.getByRole("button", { name: /dark mode/i }).click();
  await page.goto(`${origins.loopback}/docs/errors`);
  expect(await page.evaluate("getComputedStyle(document.body).backgroundColor")).toBe("rgb(15, 15, 15)");
  await page.context().close();
});

import { mkdirSync } from "node:fs";
import { type Browser, chromium, type Page } from "playwright-core";
import { createTestHarness, type TestHarness } from "wrangler";
import { afterAll, beforeAll, expect, test } from "vitest";
import { keyRecordName } from "../../src/auth/key-record.ts";
import { LOCAL_API_KEY } from "../../src/local-api-key.ts";
import { LOCAL_KEY_RECORD } from "../../scripts/local-state.ts";
import { buildBundle } from "../../scripts/wrangler.ts";

/** Debian's, unless another is named. */
const CHROMIUM = process.env["CHROMIUM"] ?? "/usr/bin/chromium";
const SCREENSHOTS = ".dist/screenshots";

let harness: TestHarness;
let browser: Browser;
let origin: string;

beforeAll(async () => {
  mkdirSync(SCREENSHOTS, { recursive: true });
  harness = createTestHarness({
    workers: [{ configPath: "wrangler.toml", prebuiltWorkerDir: await buildBundle("local") }],
  });
  const { url } = await harness.listen();
  origin = url.origin;
  const worker = harness.getWorker<Env>();
  await worker.applyD1Migrations("DB");
  const { API_KEYS } = await worker.getEnv();
  await API_KEYS.put(await keyRecordName(LOCAL_API_KEY), JSON.stringify(LOCAL_KEY_RECORD));
  browser = await chromium.launch({
    executablePath: CHROMIUM,
    args: [
      "--no-sandbox",
      "--disable-gpu",
      "--disable-background-networking",
      "--disable-component-update",
      "--disable-sync",
      // Nothing but the service can be reached.
      `--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE ${url.hostname}`,
    ],
  });
}, 60_000);
afterAll(async () => {
  await browser?.close();
  await harness?.close();
});

/** A page that notes everything that a careful visitor would find in the console or the network log. */
async function openPage(
  path: string,
  viewport = { width: 1280, height: 900 },
): Promise<{ page: Page; faults: string[] }> {
  const page = await browser.newPage({ viewport });
  const faults: string[] = [];
  page.on("console", (message) => {
    if (message.type() === "error" || message.type() === "warning") faults.push(message.text());
  });
  page.on("pageerror", (error) => faults.push(error.message));
  page.on("request", (request) => {
    if (!request.url().startsWith(origin) && !/^(data|blob):/.test(request.url())) faults.push(`asks ${request.url()}`);
  });
  await page.goto(origin + path);
  return { page, faults };
}

async function authorize(page: Page): Promise<void> {
  await page.getByRole("button", { name: "Authorize" }).first().click();
  await page.getByLabel("auth-bearer-value").fill(LOCAL_API_KEY);
  await page.locator(".modal-ux").getByRole("button", { name: "Apply credentials" }).click();
  await page.locator(".modal-ux").getByRole("button", { name: "Close", exact: true }).click();
}

/** Sends an operation's example, and returns the status and the body that the page shows. */
async function execute(page: Page, operationId: string): Promise<{ status: string; body: string }> {
  const operation = page.locator(`#operations-Pets-${operationId}`);
  await operation.locator(".opblock-summary-control").click();
  await operation.getByRole("button", { name: "Execute" }).click();
  const answer = operation.locator(".live-responses-table");
  await answer.locator(".response-col_status").last().waitFor();
  return {
    status: await answer.locator("tbody .response-col_status").first().innerText(),
    body: await answer.locator(".response-col_description code").first().innerText(),
  };
}

test("a person enters a key, adds an animal and lists it, from the page", async () => {
  const { page, faults } = await openPage("/");
  expect(new URL(page.url()).pathname).toBe("/docs");
  await page.locator("#operations-Pets-createPet").waitFor();
  await authorize(page);
  const created = await execute(page, "createPet");
  expect(created.status).toContain("201");
  expect(JSON.parse(created.body)).toMatchObject({ name: "Ada the Alpaca", categoryId: 7, status: "available" });
  const listed = await execute(page, "listPets");
  expect(listed.status).toContain("200");
  expect(JSON.parse(listed.body)).toEqual([JSON.parse(created.body)]);
  await page.locator("#operations-Pets-listPets").scrollIntoViewIfNeeded();
  await page.screenshot({ path: `${SCREENSHOTS}/desktop.png` });
  expect(faults).toEqual([]);
  await page.close();
});

test("it can be read on a phone, without scrolling sideways", async () => {
  const { page, faults } = await openPage("/docs", { width: 390, height: 844 });
  await page.locator("#operations-Pets-listPets").waitFor();
  const width: number = await page.evaluate("document.documentElement.scrollWidth");
  await page.screenshot({ path: `${SCREENSHOTS}/phone.png`, fullPage: true });
  expect(width).toBeLessThanOrEqual(390);
  expect(faults).toEqual([]);
  await page.close();
});

test("everything can be reached with the keyboard alone", async () => {
  const { page } = await openPage("/docs");
  await page.locator("#operations-Pets-listPets").waitFor();
  const reached = new Set<string>();
  for (let presses = 0; presses < 60; presses++) {
    await page.keyboard.press("Tab");
    reached.add(
      await page.evaluate(
        "document.activeElement.innerText || document.activeElement.getAttribute('aria-label') || ''",
      ),
    );
  }
  const all = [...reached].join("\n");
  for (const what of ["Guarantees", "Authorize", "/pets", "/pets/{petId}"]) expect(all).toContain(what);

  await page.getByRole("button", { name: "Authorize" }).first().focus();
  await page.keyboard.press("Enter");
  await page.getByLabel("auth-bearer-value").waitFor();
  await page.close();
});

test.each(["errors", "guarantees", "keys", "versioning"])(
  "the guide on %s is there, and its links lead somewhere",
  async (guide) => {
    const { page, faults } = await openPage(`/docs/${guide}`);
    expect(await page.locator("h1").count()).toBe(1);
    const links: string[] = await page
      .locator("a")
      .evaluateAll((list) => list.map((link) => Reflect.get(link, "href")));
    for (const link of new Set(links.filter((target) => target.startsWith(origin)))) {
      const response = await fetch(link);
      expect(response.status, link).toBe(200);
      const { hash } = new URL(link);
      if (hash !== "") expect(await response.text(), link).toContain(`id="${hash.slice(1)}"`);
    }
    await page.screenshot({ path: `${SCREENSHOTS}/${guide}.png` });
    expect(faults).toEqual([]);
    await page.close();
  },
);

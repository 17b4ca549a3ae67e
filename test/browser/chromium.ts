// Starts the built service, and a Chromium that can reach nothing else.
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import type { AxeResults, RunOptions } from "axe-core";
import { type Browser, type BrowserContext, type BrowserContextOptions, chromium, type Page } from "playwright-core";
import { createTestHarness, type TestHarness } from "wrangler";
import { afterAll, afterEach, beforeAll, expect, inject } from "vitest";
import { type KeyRecord, keyRecordName } from "../../src/auth/key-record.ts";
import { LOCAL_API_KEY } from "../../src/local-api-key.ts";
import { LOCAL_KEY_RECORD } from "../../scripts/local-state.ts";

const CHROMIUM = process.env["CHROMIUM"] ?? "/usr/bin/chromium";

export const DESKTOP = { width: 1280, height: 900 };
export const PHONE = { width: 390, height: 844 };

/** The renderer of the reference logs its version. Nothing else is allowed. */
const EXPECTED_MESSAGE = /^@scalar\/api-reference@[\d.]+$/;

let harness: TestHarness;
let browser: Browser;
export let bindings: Env;
/** The origins of the service, on a loopback host and on another one. */
export const origins = { loopback: "", other: "" };

beforeAll(async () => {
  harness = createTestHarness({
    workers: [{ configPath: "wrangler.toml", prebuiltWorkerDir: inject("bundle") }],
  });
  const { url } = await harness.listen();
  origins.loopback = url.origin;
  origins.other = `http://petstore.example:${url.port}`;
  const worker = harness.getWorker<Env>();
  await worker.applyD1Migrations("DB");
  bindings = await worker.getEnv();
  await grantKey(LOCAL_API_KEY, {});
  browser = await chromium.launch({
    executablePath: CHROMIUM,
    args: [
      "--no-sandbox",
      "--disable-gpu",
      "--disable-background-networking",
      "--disable-component-update",
      "--disable-sync",
      // Nothing but the service can be reached.
      `--host-resolver-rules=MAP petstore.example ${url.hostname}, MAP * ~NOTFOUND, EXCLUDE ${url.hostname}`,
      `--unsafely-treat-insecure-origin-as-secure=${origins.other}`,
    ],
  });
}, 180_000);
afterAll(async () => {
  await browser?.close();
  await harness?.close();
});

/** Stores an API key, by default one with all scopes. */
export async function grantKey(key: string, record: Partial<KeyRecord>): Promise<string> {
  await bindings.API_KEYS.put(await keyRecordName(key), JSON.stringify({ ...LOCAL_KEY_RECORD, ...record }));
  return key;
}

/** The pages of the present test, with the faults that no page may have. */
const opened: { context: BrowserContext; faults: string[] }[] = [];
afterEach(async () => {
  const closing = opened.splice(0);
  await Promise.all(closing.map(({ context }) => context.close()));
  expect(closing.flatMap(({ faults }) => faults)).toEqual([]);
});

/**
 * Opens a page until the test ends, and records every fault in its console and its network log. The test then fails, unless it expects
 * faults.
 */
export async function openPage(
  path: string,
  options: BrowserContextOptions & {
    origin?: string;
    prepare?: (page: Page) => Promise<unknown>;
    expectsFaults?: boolean;
  } = {},
): Promise<{ page: Page; faults: string[] }> {
  const { origin = origins.loopback, prepare, expectsFaults = false, ...settings } = options;
  const context = await browser.newContext({
    viewport: DESKTOP,
    permissions: ["clipboard-read", "clipboard-write"],
    ...settings,
  });
  const page = await context.newPage();
  const faults: string[] = [];
  opened.push({ context, faults: expectsFaults ? [] : faults });
  page.on("console", (message) => {
    if (!EXPECTED_MESSAGE.test(message.text())) faults.push(message.text());
  });
  page.on("pageerror", (error) => faults.push(error.message));
  page.on("request", (request) => {
    if (!request.url().startsWith(origin) && !/^(data|blob):/.test(request.url())) faults.push(`asks ${request.url()}`);
  });
  await prepare?.(page);
  await page.goto(origin + path);
  return { page, faults };
}

/** Opens the reference and waits for the section in the fragment of the path. */
export async function openReference(...parameters: Parameters<typeof openPage>): ReturnType<typeof openPage> {
  const opened = await openPage(...parameters);
  const [, part = "description/introduction"] = parameters[0].split("#");
  await opened.page.locator(`#reference [id$="${part}"]`).getByRole("heading").first().waitFor();
  return opened;
}

/** Presses Tab until an element with this name has the focus. Returns the names of all elements that had it. */
export async function tabTo(page: Page, name: string): Promise<string[]> {
  const reached: string[] = [];
  while (reached.at(-1)?.includes(name) !== true) {
    expect(reached.length, reached.join("\n")).toBeLessThan(100);
    await page.keyboard.press("Tab");
    const named = "document.activeElement.ariaLabel || document.activeElement.innerText.replaceAll('\\n', ' ')";
    reached.push(await page.evaluate(named));
  }
  return reached;
}

/** Opens a part of the console with a key, and waits until it shows everything. */
export async function openConsole(
  part: string,
  { key = LOCAL_API_KEY, ...options }: Parameters<typeof openPage>[1] & { key?: string } = {},
): ReturnType<typeof openPage> {
  const opened = await openPage(`/console#${part}`, options);
  await opened.page.getByLabel("API key").fill(key);
  await opened.page.getByRole("button", { name: "Sign in" }).click();
  await opened.page.locator('section[aria-busy="false"]').waitFor();
  return opened;
}

const AXE = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const RULES: RunOptions = {
  runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"],
  rules: {
    // A button of the renderer is called "Show all Pets endpoints" and says "Show More".
    "label-content-name-mismatch": { enabled: false },
    // The renderer names the responses of an operation by their statuses, which two operations may share. No rule of WCAG asks for more.
    "landmark-unique": { enabled: false },
  },
};

/** The elements of a page that break a rule of WCAG 2.2 AA. Playwright runs axe beside the policy of the page. */
export async function violationsOf(page: Page, rules = RULES): Promise<string[]> {
  await page.evaluate(AXE);
  const { violations, passes }: AxeResults = await page.evaluate(`axe.run(${JSON.stringify(rules)})`);
  expect(passes.map(({ id }) => id)).toContain("color-contrast");
  return violations.flatMap(({ id, nodes }) => nodes.map(({ target }) => `${id}: ${target.join(" ")}`));
}

import { execFileSync } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { build } from "esbuild";
import type { Page } from "playwright-core";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import type * as Client from "../../client/src/index.ts";
import { readPackages } from "../../openapi/packages.ts";
import { LOCAL_API_KEY } from "../../src/local-api-key.ts";
import { newProject } from "../built/project.ts";
import { openPage, origins } from "./chromium.ts";

// Runs the packed client in the page of a shop. The shop and the service have different origins, so Chromium sends a CORS
// preflight before a request and hides the response headers that the service does not expose.

/** The global object of the page, where the functions below run. */
declare const client: typeof Client;

const MAX_INT64 = 2n ** 63n - 1n;

let shop: Server;
let page: Page;
let options: { baseUrl: string; apiKey: string };

beforeAll(async () => {
  const project = newProject();
  const { outputFiles } = await build({
    stdin: { contents: 'export * from "@petstore/client";', resolveDir: project },
    bundle: true,
    format: "iife",
    globalName: "client",
    platform: "browser",
    write: false,
  });
  rmSync(project, { recursive: true });
  const html = `<!doctype html><link rel="icon" href="data:,"><script>${outputFiles[0]?.text}</script>`;
  shop = createServer((_request, response) => response.setHeader("Content-Type", "text/html").end(html));
  await once(shop.listen(0, "127.0.0.1"), "listening");
  ({ page } = await openPage("/", { origin: `http://127.0.0.1:${(shop.address() as AddressInfo).port}` }));
  options = { baseUrl: `${origins.loopback}/v1`, apiKey: LOCAL_API_KEY };
}, 120_000);
afterAll(() => {
  shop?.closeAllConnections();
  shop?.close();
});

// Promise: runtimes
test("a page of another origin adds an animal, and reads it with the bookmark of its session", async () => {
  const read = page.waitForRequest((request) => request.method() === "GET");
  const { added, found, bookmark, sunset } = await page.evaluate(async (options) => {
    let sunset: string | undefined;
    const onDeprecation = (deprecation: Client.Deprecation) => (sunset = deprecation.sunset.toISOString());
    const store = new client.PetStore({ ...options, onDeprecation });
    const session = store.session();
    const added = await session.pets.create({ name: "Max", categoryId: 9223372036854775807n });
    const { bookmark } = session;
    const found = await store.session(bookmark).pets.get(added.animal.id);
    return { added, found, bookmark, sunset };
  }, options);
  expect(added).toEqual({
    animal: { id: added.animal.id, name: "Max", categoryId: MAX_INT64, status: "available" },
    etag: '"1"',
    replayed: false,
  });
  expect(found).toEqual({ animal: added.animal, etag: '"1"', notModified: false });
  expect(bookmark).toMatch(/^[0-9a-f-]{59}$/);
  expect(await (await read).headerValue("x-d1-bookmark")).toBe(bookmark);
  expect(sunset).toBe("2030-12-05T00:00:00.000Z");
});

test("it follows the pages of a list", async () => {
  const names = await page.evaluate(async (options) => {
    const session = new client.PetStore(options).session();
    const categoryId = 9007199254740993n;
    for (const name of ["Ada", "Bruno", "Cleo"]) await session.pets.create({ name, categoryId });
    const names: string[] = [];
    for await (const { name } of session.pets.list({ categoryId, limit: 1 })) names.push(name);
    return names;
  }, options);
  expect(names).toEqual(["Ada", "Bruno", "Cleo"]);
});

// Promise: update-rejects
test("it changes and deletes the version that it knows", async () => {
  const outcome = await page.evaluate(async (options) => {
    const { pets } = new client.PetStore(options).session();
    const added = await pets.create({ name: "Dora", categoryId: 1 });
    const changed = await pets.update(added.animal.id, { status: "pending" }, { ifMatch: added.etag });
    const refused = await pets.update(added.animal.id, {}, { ifMatch: added.etag }).catch(({ code }) => code);
    await pets.delete(added.animal.id, { ifMatch: changed.etag });
    return [changed.etag, refused];
  }, options);
  expect(outcome).toEqual(['"2"', "precondition_failed"]);
});

test("it gets the same animal for the same key, marked as replayed", async () => {
  const [first, second] = await page.evaluate(async (options) => {
    const { pets } = new client.PetStore(options);
    const create = () => pets.create({ name: "Rex", categoryId: 7n }, { idempotencyKey: "of-a-page" });
    return [await create(), await create()] as const;
  }, options);
  expect(first.replayed).toBe(false);
  expect(second).toEqual({ ...first, replayed: true });
});

test("it gets the code and the request id of an error", async () => {
  const response = page.waitForResponse((response) => response.status() === 404);
  const error = await page.evaluate(async (options) => {
    try {
      return await new client.PetStore(options).orders.get(1).then(() => "an order");
    } catch (error) {
      if (!(error instanceof client.PetStoreError)) throw error;
      return { code: error.code, status: error.status, requestId: error.requestId };
    }
  }, options);
  const requestId = await (await response).headerValue("X-Request-Id");
  expect(requestId).toMatch(/^[0-9a-f-]{36}$/);
  expect(error).toEqual({ code: "not_found", status: 404, requestId });
});

// Promise: pages-without-a-bundler
test("a page without a bundler imports the package that the service serves, and runs the first program of the guide", async () => {
  const folder = mkdtempSync(join(tmpdir(), "petstore-page-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const address = `${origins.loopback}/docs/${readPackages().at(-1)?.file}`;
  execFileSync("npm", ["install", "--registry=http://127.0.0.1:9", `--cache=${folder}/cache`, address], {
    cwd: folder,
    stdio: "ignore",
  });
  const guide = readFileSync("client/README.md", "utf8");
  const [, map = ""] = /```html\n(.+?)```/s.exec(guide) ?? [];
  const [, program = ""] = /```ts\n(.+?)```/s.exec(guide) ?? [];
  const settings = JSON.stringify({ BASE: options.baseUrl, KEY: options.apiKey });
  const html = `<!doctype html><link rel="icon" href="data:,">${map}
    <script type="module">${program.replace("process.env", settings)}; console.log("The program ended.");</script>`;
  const site = createServer(({ url = "" }, response) => {
    const isModule = /^\/node_modules\/@petstore\/client\/dist\/[\w-]+\.js$/.test(url);
    response.setHeader("Content-Type", isModule ? "text/javascript" : "text/html");
    response.end(isModule ? readFileSync(join(folder, url)) : html);
  });
  await once(site.listen(0, "127.0.0.1"), "listening");
  onTestFinished(() => site.close().closeAllConnections());
  const origin = `http://127.0.0.1:${(site.address() as AddressInfo).port}`;
  const { page, faults: messages } = await openPage("/", { origin });
  await expect.poll(() => messages).toContain("The program ended.");
  // Playwright shows no bigint. The other messages are that the page asks the service.
  const printed = messages.filter((text) => !text.startsWith(`asks ${options.baseUrl}/`));
  expect(printed).toEqual(expect.arrayContaining(["undefined Rex", "The program ended."]));
  expect(printed.filter((text) => !/^undefined \S|^The program ended\.$/.test(text))).toEqual([]);
  await page.context().close();
});

import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { build } from "esbuild";
import { beforeAll, expect, onTestFinished, test } from "vitest";
import type * as Client from "../../client/src/index.ts";
import { readPackages } from "../../openapi/packages.ts";
import { LOCAL_API_KEY } from "../../src/local-api-key.ts";
import { temporaryFolder } from "../built/folder.ts";
import { newProject } from "../built/project.ts";
import { serve } from "../built/serve.ts";
import { openPage, origins } from "./chromium.ts";

// Runs the packed client in the page of a shop. The shop and the service have different origins, so Chromium sends a CORS
// preflight before a request and hides the response headers that the service does not expose.

/** The global object of the page, where the functions below run. */
declare const client: typeof Client;

const MAX_INT64 = 2n ** 63n - 1n;

let options: { baseUrl: string; apiKey: string };
let shop: string;
const project = newProject();
beforeAll(async () => {
  const { outputFiles } = await build({
    stdin: { contents: 'export * from "@petstore/client";', resolveDir: project },
    bundle: true,
    format: "iife",
    globalName: "client",
    platform: "browser",
    write: false,
  });
  shop = `<!doctype html><link rel="icon" href="data:,"><script>${outputFiles[0]?.text}</script>`;
  options = { baseUrl: `${origins.loopback}/v1`, apiKey: LOCAL_API_KEY };
}, 120_000);

const openShop = async () => {
  const origin = await serve((_request, response) => response.setHeader("Content-Type", "text/html").end(shop));
  // It asks another origin, and one of its requests is refused.
  return (await openPage("/", { origin, expectsFaults: true })).page;
};

// Promise: runtimes
test("a page of another origin adds an animal, and reads it with the bookmark of its session", async () => {
  const page = await openShop();
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
    warnings: [],
  });
  expect(found).toEqual({ animal: added.animal, etag: '"1"', notModified: false });
  expect(bookmark).toMatch(/^[0-9a-f-]{59}$/);
  expect(await (await read).headerValue("x-d1-bookmark")).toBe(bookmark);
  expect(sunset).toBe("2030-12-05T00:00:00.000Z");
});

// Promise: update-rejects
test("it uses every method, and reads the headers of pages, replays and errors", async () => {
  const page = await openShop();
  const response = page.waitForResponse((response) => response.status() === 404);
  const { names, replayed, changed, refused, missing } = await page.evaluate(async (options) => {
    const { pets, orders } = new client.PetStore(options).session();
    const categoryId = 9007199254740993n;
    for (const name of ["Ada", "Bruno", "Cleo"]) await pets.create({ name, categoryId });
    const names: string[] = [];
    for await (const { name } of pets.list({ categoryId, limit: 1 })) names.push(name);
    const create = () => pets.create({ name: "Dora", categoryId: 1 }, { idempotencyKey: "of-a-page" });
    const [{ animal, etag }, { replayed }] = [await create(), await create()];
    const changed = await pets.update(animal.id, { status: "pending" }, { ifMatch: etag });
    const refused = await pets.update(animal.id, {}, { ifMatch: etag }).catch(({ code }) => code);
    await pets.delete(animal.id, { ifMatch: changed.etag });
    const missing = await orders.get(1).catch(({ code, requestId }) => ({ code, requestId }));
    return { names, replayed, changed: changed.etag, refused, missing };
  }, options);
  expect(names).toEqual(["Ada", "Bruno", "Cleo"]);
  expect([replayed, changed, refused]).toEqual([true, '"2"', "precondition_failed"]);
  expect(missing).toEqual({ code: "not_found", requestId: await (await response).headerValue("X-Request-Id") });
});

// Promise: pages-without-a-bundler
test("a page without a bundler imports the package that the service serves, and runs the first program of the guide", async () => {
  const folder = temporaryFolder(onTestFinished);
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
  const origin = await serve(({ url = "" }, response) => {
    const isModule = /^\/node_modules\/@petstore\/client\/dist\/[\w-]+\.js$/.test(url);
    response.setHeader("Content-Type", isModule ? "text/javascript" : "text/html");
    response.end(isModule ? readFileSync(join(folder, url)) : html);
  });
  const { faults: messages } = await openPage("/", { origin, expectsFaults: true });
  await expect.poll(() => messages, { timeout: 60_000 }).toContain("The program ended.");
  // Playwright shows no bigint. The other messages are that the page asks the service.
  const printed = messages.filter((text) => !text.startsWith(`asks ${options.baseUrl}/`));
  expect(printed).toEqual(expect.arrayContaining(["undefined Rex", "The program ended."]));
  expect(printed.filter((text) => !/^undefined \S|^The program ended\.$/.test(text))).toEqual([]);
});

import type { Locator, Page } from "playwright-core";
import { expect, test } from "vitest";
import { LOCAL_API_KEY } from "../../src/local-api-key.ts";
import { operationsOf } from "../../openapi/read.ts";
import { readDocument } from "../../scripts/client/document.ts";
import { DESKTOP, openPage, openReference, origins, PHONE, tabTo } from "./chromium.ts";

/** The global object of the page, where some of the functions below run. */
declare const getComputedStyle: (element: unknown) => { opacity: string; whiteSpace: string };

const BEYOND_DOUBLE = "9007199254740993";
const MAX_INT64 = "9223372036854775807";

const SEND = /Send \w+ request to/;
const CREATE_PET = "/docs/reference#tag/pets/POST/pets";

async function openClient(page: Page, route: string): Promise<Locator> {
  await page.getByRole("button", { name: `Test Request (${route})` }).click();
  const client = page.getByRole("dialog");
  await client.getByRole("button", { name: SEND }).waitFor();
  return client;
}

async function enterBody(page: Page, client: Locator, body: string): Promise<void> {
  await client.locator(".cm-content").first().click();
  await page.keyboard.press("ControlOrMeta+A");
  await page.keyboard.insertText(body);
}

/** Sends the request and returns the status and the body that the page shows. */
async function send(client: Locator, status: string): Promise<string> {
  await client.getByRole("button", { name: SEND }).click();
  await client.getByText(status).waitFor();
  // The body of the request, which is there already, has no id.
  return await client.locator(".cm-content", { hasText: '"id"' }).innerText();
}

test("a person enters a key, adds an animal with the largest category, and lists it", async () => {
  const { page } = await openPage(CREATE_PET, { origin: origins.other });
  const client = await openClient(page, "post /pets");
  const key = client.getByPlaceholder("Token");
  expect(await key.inputValue()).toBe("");
  await key.fill(LOCAL_API_KEY);
  await enterBody(page, client, `{ "name": "Max", "categoryId": ${MAX_INT64} }`);
  const sent = page.waitForRequest((request) => request.method() === "POST");
  const shown = await send(client, "201 Created");
  expect((await sent).postData()).toContain(`"categoryId": ${MAX_INT64}`);
  expect(shown).toContain(`"categoryId": ${MAX_INT64},`);
  await page.keyboard.press("Escape");

  await page.goto(`${origins.other}/docs/reference#tag/pets/GET/pets`);
  const list = await send(await openClient(page, "get /pets"), "200 OK");
  expect(list).toContain(`"categoryId": ${MAX_INT64},`);
});

test("the key of local development is filled in on a loopback host only", async () => {
  for (const [origin, value, shown] of [
    [origins.loopback, LOCAL_API_KEY, `KEY=${LOCAL_API_KEY}`],
    [origins.other, "", "KEY=petstore_..."],
  ] as const) {
    const { page } = await openPage("/docs", { origin });
    await page.getByText(shown).waitFor();
    await page.goto(`${origin}/docs/reference`);
    expect(await page.getByPlaceholder("Token").first().inputValue()).toBe(value);
  }
});

test("the client hides its form, which would round, and its sample, which would be that of another request", async () => {
  const { page } = await openReference(CREATE_PET);
  const client = await openClient(page, "post /pets");
  await client.locator(".cm-content").waitFor();
  // Both are in the page and hidden. When an upgrade changes one, look at the page before changing this.
  for (const text of ["Form", "Code Snippet"]) {
    const hidden = client.getByText(text, { exact: text === "Form" });
    expect([await hidden.count(), await hidden.isVisible()], text).toEqual([1, false]);
  }
  expect(await client.getByRole("button", { name: "Form", exact: true }).count()).toBe(0);
});

test("examples are shown and sent exactly", async () => {
  const { page } = await openPage(CREATE_PET, {
    prepare: (page) =>
      page.route("**/reference.json", async (route) => {
        const text = await (await route.fetch()).text();
        const large = text
          .replaceAll(String.raw`\"categoryId\": 1`, String.raw`\"categoryId\": ${BEYOND_DOUBLE}`)
          .replaceAll(String.raw`\"categoryId\":1`, String.raw`\"categoryId\":${BEYOND_DOUBLE}`);
        await route.fulfill({ body: large, contentType: "application/json" });
      }),
  });
  const operation = page.locator('[id$="tag/pets/POST/pets"]');
  await operation.getByTestId("client-picker").click();
  await page.getByRole("option", { name: "curl", exact: true }).click();
  await operation.getByText("curl -X POST").waitFor();
  // One in the sample of the request, one in the example of the response.
  const text = await operation.innerText();
  expect(text).toContain(`"categoryId":${BEYOND_DOUBLE}`);
  expect(text).toContain(`"categoryId": ${BEYOND_DOUBLE}`);
  expect(text).not.toMatch(/9007199254740992/);
  const sent = page.waitForRequest((request) => request.method() === "POST");
  const shown = await send(await openClient(page, "post /pets"), "201 Created");
  expect((await sent).postData()).toContain(BEYOND_DOUBLE);
  expect(shown).toContain(BEYOND_DOUBLE);
});

test("every creation is sent with a new Idempotency-Key, unless the reader enters one", async () => {
  const { page } = await openPage(CREATE_PET);
  const client = await openClient(page, "post /pets");
  const keyOfNext = async () => {
    const answered = page.waitForResponse((response) => response.request().method() === "POST");
    await client.getByRole("button", { name: SEND }).click();
    expect((await answered).status()).toBe(201);
    return (await answered).request().headerValue("Idempotency-Key");
  };
  const keys = [await keyOfNext(), await keyOfNext()];
  const uuid = expect.stringMatching(/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/);
  expect(keys).toEqual([uuid, uuid]);
  expect(keys[0]).not.toBe(keys[1]);

  await client.getByText("new-for-each-request").click();
  await page.keyboard.press("ControlOrMeta+A");
  await page.keyboard.insertText("mine");
  expect([await keyOfNext(), await keyOfNext()]).toEqual(["mine", "mine"]);
});

test("the client sends no parameter that nobody chose", async () => {
  const { page } = await openPage("/docs/reference#tag/pets/GET/pets");
  const sent: string[] = [];
  page.on("request", (request) => {
    if (request.url().includes("/v1/")) sent.push(`${request.method()} ${request.url()}`);
  });
  const list = await openClient(page, "get /pets");
  await send(list, "200 OK");
  await list.locator("tr#limit").getByRole("combobox", { name: "Value" }).click();
  expect(await list.getByRole("button", { name: "Input is invalid" }).count()).toBe(0);
  await page.keyboard.insertText("2");
  const answered = page.waitForResponse("**/v1/pets?*");
  await list.getByRole("button", { name: SEND }).click();
  await answered;
  // A client that is closed before it has read its response offers no second one: its button stays disabled.
  await list.getByRole("button", { name: SEND, disabled: false }).waitFor();
  await page.keyboard.press("Escape");

  await page.goto(`${origins.loopback}/docs/reference#tag/pets/DELETE/pets/{petId}`);
  const remove = await openClient(page, "delete /pets/{petId}");
  await remove.getByRole("button", { name: SEND }).click();
  await page.getByText("Path parameters must have values.").first().waitFor();
  expect(sent).toEqual([`GET ${origins.loopback}/v1/pets`, `GET ${origins.loopback}/v1/pets?limit=2`]);
});

test("the samples are ours, the client's first, and each can be copied", async () => {
  const { page } = await openReference(CREATE_PET);
  const operation = page.locator('[id$="tag/pets/POST/pets"]');
  const languages = [
    ["TypeScript", "await store.pets.create("],
    ["curl", "curl -X POST"],
    ["JavaScript", "await fetch("],
    ["Python", "import requests"],
    ["Go", "http.NewRequest("],
  ] as const;
  await operation.getByText(`npm install ${origins.loopback}/docs/petstore-client-`).waitFor();
  // No pointer is over the sample.
  const frame = operation.locator(".request-card .scalar-code-copy");
  expect(await frame.evaluate((one) => getComputedStyle(one).opacity)).toBe("1");
  const picker = operation.getByTestId("client-picker");
  await picker.click();
  expect(await page.getByRole("option").allInnerTexts()).toEqual(languages.map(([name]) => name));
  await page.keyboard.press("Escape");
  for (const [name, code] of languages) {
    await picker.click();
    await page.getByRole("option", { name, exact: true }).click();
    await operation.getByText(code).waitFor();
    const sample = operation.locator(".request-card");
    await sample.getByRole("button", { name: "Copy" }).click();
    const copied: string = await page.evaluate("navigator.clipboard.readText()");
    expect(copied).toContain(code);
    if (name !== "TypeScript") expect(copied).toMatch(/Idempotency-Key"?[:,] "?[0-9a-f-]{36}/);
  }
});

test("the first page has the quick start, and needs little of a slow phone", async () => {
  let bytes = 0;
  const { page } = await openPage("/docs", {
    prepare: async (page) =>
      page.on("response", async (response) => (bytes += (await response.body().catch(() => Buffer.alloc(0))).length)),
  });
  const steps = page.locator("article .code");
  await expect.poll(() => steps.count(), { timeout: 60_000 }).toBe(6);
  for (const step of await steps.all()) {
    await step.getByRole("button", { name: "Copy" }).click();
    await step.getByRole("button", { name: "Copied" }).waitFor();
    expect(await page.evaluate("navigator.clipboard.readText()")).toBe(await step.locator("pre").textContent());
  }
  expect(await steps.first().locator("pre").textContent()).toContain(`KEY=${LOCAL_API_KEY}`);
  const responses = await page.locator("article .output").allTextContents();
  expect(responses.map((text) => /Ada the Alpaca|Rex/.exec(text)?.[0])).toEqual(["Ada the Alpaca", "Rex", "Rex"]);
  expect(bytes).toBeLessThan(100_000);
});

test.each([DESKTOP, PHONE])("an operation shows its scope and all of its statuses ($width px)", async (viewport) => {
  const { page } = await openReference(CREATE_PET, { viewport });
  const operation = page.locator('[id$="tag/pets/POST/pets"]');
  await operation.getByText("The API key needs the scope pets:write.").waitFor();
  const advice = operation.getByRole("link", { name: "idempotency_key_reused" });
  expect(await advice.getAttribute("href")).toBe("/docs/errors#idempotency_key_reused");
  const card = await operation.locator(".response-card").boundingBox();
  const tabs = await operation.locator(".response-card [role=tab]").all();
  expect(tabs.length).toBe(12);
  for (const tab of tabs) {
    const box = await tab.boundingBox();
    expect((box?.x ?? Infinity) + (box?.width ?? 0)).toBeLessThan((card?.x ?? 0) + (card?.width ?? 0));
  }
  const conditions = operation.locator(".responses-list--tree .markdown-summary");
  expect(await conditions.count()).toBe(tabs.length);
  const wrapping = await conditions.evaluateAll((all) => all.map((one) => getComputedStyle(one).whiteSpace));
  expect(wrapping).not.toContain("nowrap");
});

test.each([
  ["tag/pets/PATCH/pets/{petId}", "Beta"],
  ["tag/store/PATCH/store/orders/{orderId}", "Experimental"],
  ["tag/pets/GET/pets/{petId}", "Deprecated"],
])("%s is marked, in the navigation too: %s", async (operation, mark) => {
  // The reference had this address before.
  const { page } = await openPage(`/docs#${operation}`);
  await page.waitForURL(({ pathname }) => pathname === "/docs/reference");
  const badge = page.locator(`[id$="${operation}"] .badge`, { hasText: new RegExp(`^\\s*${mark}\\s*$`, "i") });
  await badge.waitFor();
  expect(await badge.isVisible()).toBe(true);
  const entry = page.locator(`[data-sidebar-id$="${operation}"]`);
  await entry.getByRole("link", { name: mark }).waitFor();
});

test("no part of the reference is wider than a phone", async () => {
  const { page } = await openReference("/docs/reference", { viewport: PHONE });
  for (const [route, { tags = [] }] of operationsOf(readDocument())) {
    const id = `tag/${tags[0]?.toLowerCase()}/${route.replace(" ", "")}`;
    await page.evaluate(`location.hash = ${JSON.stringify(id)}`);
    await page.locator(`[id$="${id}"]`).getByRole("heading").first().waitFor();
    expect(await page.evaluate("document.documentElement.scrollWidth"), route).toBe(PHONE.width);
  }
});

test("on a phone, a person searches for an operation and sends a request", async () => {
  const { page } = await openReference("/docs/reference", { viewport: PHONE, hasTouch: true });
  await page.getByRole("button", { name: "Search" }).tap();
  await page.keyboard.type("add an animal");
  await page.getByRole("option", { name: "Add an animal" }).first().tap();
  const operation = page.locator('[id$="tag/pets/POST/pets"]');
  await operation.getByRole("button", { name: "Test Request" }).tap();
  const client = page.getByRole("dialog");
  const method = await client.getByText("POST", { exact: true }).filter({ visible: true }).boundingBox();
  const path = await client.getByText("/pets", { exact: true }).boundingBox();
  expect(Math.abs((method?.y ?? Infinity) - (path?.y ?? 0))).toBeLessThan(10);
  await enterBody(page, client, `{ "name": "Max", "categoryId": ${MAX_INT64} }`);
  expect(await send(client, "201 Created")).toContain(`"categoryId": ${MAX_INT64},`);
});

test("without scripts, the page says what this API is and where the document is", async () => {
  const { page } = await openPage("/docs/reference", { javaScriptEnabled: false });
  await page.getByText("This API runs a pet store").waitFor();
  await page.getByText("The reference needs JavaScript.").waitFor();
  await page.getByRole("link", { name: "The OpenAPI document" }).click();
  await page.waitForURL("**/openapi.json");
  expect(await page.locator("body").innerText()).toContain('"openapi": "3.1.0"');
});

test.each(["/docs/reference", "/docs/errors"])("the first Tab on %s reaches the link to its content", async (path) => {
  const { page } = await openPage(path);
  await page.getByText("This API runs a pet store").or(page.getByText("Order of checks")).first().waitFor();
  await page.keyboard.press("Tab");
  const link = page.getByRole("link", { name: "Skip to the content" });
  expect(await link.evaluate("document.activeElement.className")).toBe("skip");
  expect((await link.boundingBox())?.y).toBeGreaterThanOrEqual(0);
  await page.keyboard.press("Enter");
  await page.waitForFunction("document.activeElement.matches('main')");
});

test("everything can be reached and used with the keyboard alone", async () => {
  const { page } = await openPage("/docs/reference");
  await page
    .getByRole("link", { name: "Schemas" })
    .or(page.getByRole("button", { name: "Schemas" }))
    .first()
    .waitFor();
  const reached = (await tabTo(page, "Schemas")).join("\n");
  for (const what of ["Guarantees", "Search", "Introduction", "Pets"]) expect(reached).toContain(what);

  await page.goto(`${origins.loopback}${CREATE_PET}`);
  await page.reload();
  await page.getByRole("button", { name: "Test Request (post /pets)" }).waitFor();
  await tabTo(page, "(post /pets)");
  await page.keyboard.press("Enter");
  const client = page.getByRole("dialog");
  await client.getByRole("button", { name: SEND }).waitFor();
  await page.keyboard.press("ControlOrMeta+Enter");
  await client.getByText("201 Created").waitFor();
});

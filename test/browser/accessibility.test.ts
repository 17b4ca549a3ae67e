import { expect, test } from "vitest";
import { PetStore } from "../../client/src/index.ts";
import { LOCAL_API_KEY } from "../../src/local-api-key.ts";
import { openConsole, openPage, openReference, origins, PHONE, violationsOf } from "./chromium.ts";

const openResults: typeof openPage = async (...parameters) => {
  const opened = await openPage(...parameters);
  await opened.page.getByRole("button", { name: "Search" }).click();
  await opened.page.keyboard.type("key");
  await opened.page.getByRole("option", { selected: true }).waitFor();
  return opened;
};

/** A part of the console with something in it, and with its forms and questions open. */
const openPart: typeof openPage = async (path, options) => {
  const store = new PetStore({ baseUrl: `${origins.loopback}/v1`, apiKey: LOCAL_API_KEY }).session();
  const { animal } = await store.pets.create({ name: "Ada", categoryId: 1 });
  await store.orders.place({ petId: animal.id, reference: "cart-7F3A", customer: "c-42" });
  const webhook = { url: "https://hooks.example.com/", types: ["category.deleted" as const] };
  await store.webhooks.create(webhook, { idempotencyKey: "accessibility" });
  const opened = await openConsole(path.split("#")[1] ?? "", options);
  for (const summary of await opened.page.locator("summary:visible").all()) await summary.click();
  for (const name of [/^Deliveries/, /^(Add many|Cancel|Rotate)/]) {
    const button = opened.page.getByRole("button", { name }).first();
    if ((await button.count()) > 0) await button.click();
  }
  return opened;
};

const PAGES = [
  ["/docs/reference", openReference],
  ["/docs/reference#tag/pets/POST/pets", openReference],
  ["/docs/reference#tag/store/PATCH/store/orders/{orderId}", openReference],
  ["/docs", openPage],
  ["/docs/errors", openPage],
  ["/docs/orders", openPage],
  ["/docs/events", openPage],
  ["/docs/keys", openResults],
  ["/console", openPage],
  ...["orders", "animals", "feed", "webhooks", "numbers"].map((part) => [`/console#${part}`, openPart] as const),
] as const;

test.each(
  PAGES.flatMap(([path, open]) => [
    { path, open, look: "light", options: {} },
    {
      path,
      open,
      look: "dark, on a phone",
      options: { colorScheme: "dark", viewport: PHONE, hasTouch: true } as const,
    },
  ]),
)("$path keeps to WCAG 2.2 AA ($look)", async ({ path, open, options }) => {
  const { page } = await open(path, options);
  expect(await violationsOf(page)).toEqual([]);
});

// A shop front on Node.js 20 or later: visitors look at the animals and order one.
import { createServer } from "node:http";
import { PetStore, PetStoreError } from "@petstore/client";
import { html } from "hono/html";

const { BASE = "", KEY = "", PORT = "3000" } = process.env;
const store = new PetStore({ baseUrl: BASE, apiKey: KEY, retry: { totalTime: 10_000 } }); // Milliseconds.
const NOT_FOUND = { status: 404, title: "There is nothing here", content: "" };

/** @type {Record<string, (fields: Record<string, string>) => Promise<{ status?: number, title: string, content: unknown }>>} */
const pages = {
  "GET /": async ({ cursor }) => {
    const page = await store.pets.list({ status: "available", cursor }).page();
    const animals = page.items.map(({ id, name }) => html`<li><a href="/animal?id=${id}">${name}</a></li>`);
    const more = page.cursor && html`<a href="/?cursor=${page.cursor}">More animals</a>`;
    return { title: "Our animals", content: html`<ul>${animals}</ul>${more}` };
  },
  "GET /animal": async ({ id = "" }) => {
    const [animal] = (await store.pets.list({ id: [id] }).page()).items;
    if (animal === undefined) return NOT_FOUND;
    if (animal.status !== "available") return { title: animal.name, content: "This animal is not for sale." };
    const content = html`<form method="post" action="/orders">
      <input type="hidden" name="animal" value="${animal.id}" />
      <input type="hidden" name="key" value="${crypto.randomUUID()}" />
      <button>Order ${animal.name}</button></form>`;
    return { title: animal.name, content };
  },
  // A double click sends the form twice, with the same key. The service then places one order.
  "POST /orders": async ({ animal = "", key }) => {
    const { order } = await store.orders.place({ petId: animal }, { idempotencyKey: key });
    return { title: "Thank you", content: `Your order has the number ${order.id}.` };
  },
};

/** @param {import("node:http").IncomingMessage} request */
async function respond(request) {
  const [path, query] = (request.url ?? "").split("?");
  let form = "";
  for await (const chunk of request) {
    form += chunk;
    if (form.length > 1_000) return NOT_FOUND; // Whoever sent this did not use our form.
  }
  return pages[`${request.method} ${path}`]?.(Object.fromEntries(new URLSearchParams(form || query))) ?? NOT_FOUND;
}

createServer(async (request, response) => {
  const { status, title, content } = await respond(request).catch((error) => {
    if (error instanceof RangeError) return NOT_FOUND; // The id is not a 64-bit integer.
    if (error instanceof PetStoreError && error.code === "pet_not_available")
      return { status: 409, title: "Somebody else was faster", content: "Please choose another animal." };
    console.error(error); // With the code and the request id.
    return { status: 503, title: "Please try again later", content: "The shop is closed for a moment." };
  });
  // Two visitors may not share the key of a form.
  response.writeHead(status ?? 200, { "Content-Type": "text/html; charset=utf-8", "Cache-Control": "no-store" });
  const page =
    await html`<!doctype html><title>${title}</title><h1>${title}</h1>${content}<p><a href="/">All animals</a>`;
  response.end(String(page));
}).listen(Number(PORT), () => console.log(`http://localhost:${PORT}`));

// A shop front on Node.js 20 or later: visitors look at the animals and order one.
import { createServer } from "node:http";
import { PetStore, PetStoreError } from "@petstore/client";
import { html } from "hono/html";

const { BASE = "", KEY = "", PORT = "3000" } = process.env;
const store = new PetStore({ baseUrl: BASE, apiKey: KEY, retry: { totalTime: 10_000 } }); // Milliseconds.
const NOT_FOUND = { status: 404, title: "There is nothing here", content: "" };
const FOREIGN = { status: 403, title: "This is the form of another site", content: "" };
const CLOSED = "The shop is closed for a moment.";
const HEADERS = {
  "Content-Type": "text/html; charset=utf-8",
  "Cache-Control": "no-store", // Two visitors may not share the key of a form.
  // The pages load nothing, and no other site may show them or send their form.
  "Content-Security-Policy": "default-src 'none'; form-action 'self'; frame-ancestors 'none'",
  "Referrer-Policy": "same-origin", // "no-referrer" would hide who sent a form.
  "X-Content-Type-Options": "nosniff",
};

/** @type {Record<string, (fields: Record<string, string>) => Promise<{ status?: number, title: string, content: unknown }>>} */
const pages = {
  "GET /": async ({ cursor, q = "" }) => {
    let page = await store.pets.list({ status: "available", cursor, q: q || undefined }).page();
    // A page of a search may be empty although there is a next one. Visitors do not wait for more than ten.
    for (let pages = 1; pages < 10 && page.items.length === 0; pages++) page = (await page.next()) ?? page;
    const animals = page.items.map(({ id, name }) => html`<li><a href="/animal?id=${id}">${name}</a></li>`);
    const search = html`<form><input name="q" value="${q}" maxlength="255" aria-label="Name" /><button>Search</button></form>`;
    const more = page.cursor && html`<a href="/?cursor=${page.cursor}&q=${encodeURIComponent(q)}">More animals</a>`;
    return { title: "Our animals", content: html`${search}<ul>${animals}</ul>${more}` };
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
  "POST /orders": async ({ animal = "", key = "" }) => {
    const { order } = await store.orders.place({ petId: animal }, { idempotencyKey: key });
    return { title: "Thank you", content: `Your order has the number ${order.id}.` };
  },
};

/** @param {import("node:http").IncomingMessage} request */
async function respond(request) {
  const { host, origin = "", "sec-fetch-site": site } = request.headers;
  const method = request.method === "HEAD" ? "GET" : request.method;
  const [path, query] = (request.url ?? "").split("?");
  let form = "";
  for await (const chunk of request) if (form.length <= 1_000) form += chunk;
  if (form.length > 1_000) return NOT_FOUND; // Whoever sent this did not use our form.
  // Older browsers do not send Sec-Fetch-Site.
  const isOwn = site ? site === "same-origin" : [`http://${host}`, `https://${host}`].includes(origin);
  if (method === "POST" && !isOwn) return FOREIGN;
  return pages[`${method} ${path}`]?.(Object.fromEntries(new URLSearchParams(form || query))) ?? NOT_FOUND;
}

createServer(async (request, response) => {
  const { status, title, content } = await respond(request).catch((error) => {
    const code = error instanceof PetStoreError ? error.code : error.name;
    if (code === "pet_not_available")
      return { status: 409, title: "Somebody else was faster", content: "Please choose another animal." };
    // No page of the shop has such an id, cursor or key.
    if (["RangeError", "invalid_request", "idempotency_key_reused"].includes(code)) return NOT_FOUND;
    console.error(error); // With the code and the request id.
    // The response may be lost. A reload sends the form with the same key.
    const isOrder = request.method === "POST";
    const content = isOrder ? "Your order may be placed. Reload this page: you order nothing twice." : CLOSED;
    return { status: 503, title: "Please try again later", content };
  });
  response.writeHead(status ?? 200, HEADERS);
  const page =
    await html`<!doctype html><title>${title}</title><h1>${title}</h1>${content}<p><a href="/">All animals</a>`;
  response.end(String(page));
}).listen(Number(PORT), () => console.log(`http://localhost:${PORT}`));

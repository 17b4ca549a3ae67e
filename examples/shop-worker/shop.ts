// A shop front on Cloudflare Workers: visitors look at the animals and order one.
import { PetStore, PetStoreError } from "@petstore/client";
import { Hono } from "hono";
import { bodyLimit } from "hono/body-limit";
import { csrf } from "hono/csrf";
import { html } from "hono/html";
import { HTTPException } from "hono/http-exception";
import { secureHeaders } from "hono/secure-headers";
import { validator } from "hono/validator";

// The address of the API, and an API key as a secret.
type Bindings = { BASE: string; KEY: string };

const CLOSED = "The shop is closed for a moment.";

/** Visitors wait ten seconds at most. */
const storeOf = ({ BASE, KEY }: Bindings) => new PetStore({ baseUrl: BASE, apiKey: KEY, retry: { totalTime: 10_000 } });

/** `html` escapes what comes from the service or from a visitor. */
const page = (title: string, content: unknown) =>
  html`<!doctype html><title>${title}</title><h1>${title}</h1>${content}<p><a href="/">All animals</a>`;

const shop = new Hono<{ Bindings: Bindings }>();

// The pages load nothing, and no other site may show them or send their form. The default "no-referrer" would hide who sent it.
const contentSecurityPolicy = { defaultSrc: ["'none'"], formAction: ["'self'"], frameAncestors: ["'none'"] };
shop.use(secureHeaders({ contentSecurityPolicy, referrerPolicy: "same-origin" }), csrf());

shop.get("/", async (c) => {
  const { q = "", cursor } = c.req.query();
  let found = await storeOf(c.env)
    .pets.list({ status: "available", cursor, q: q || undefined })
    .page();
  // A page of a search may be empty although there is a next one. Visitors do not wait for more than ten.
  for (let pages = 1; pages < 10 && found.items.length === 0; pages++) found = (await found.next()) ?? found;
  const animals = found.items.map(({ id, name }) => html`<li><a href="/animals/${id}">${name}</a></li>`);
  const search = html`<form><input name="q" value="${q}" maxlength="255" aria-label="Name" /><button>Search</button></form>`;
  const more = found.cursor && html`<a href="/?cursor=${found.cursor}&q=${encodeURIComponent(q)}">More animals</a>`;
  return c.html(page("Our animals", html`${search}<ul>${animals}</ul>${more}`));
});

shop.get("/animals/:id", async (c) => {
  const list = storeOf(c.env).pets.list({ id: [c.req.param("id")] });
  const [animal] = (await list.page()).items;
  if (animal === undefined) return c.notFound();
  if (animal.status !== "available") return c.html(page(animal.name, "This animal is not for sale."));
  const form = html`<form method="post" action="/orders">
    <input type="hidden" name="animal" value="${animal.id}" />
    <input type="hidden" name="key" value="${crypto.randomUUID()}" />
    <button>Order ${animal.name}</button></form>`;
  // Two visitors may not share the key of a form.
  return c.html(page(animal.name, form), 200, { "Cache-Control": "no-store" });
});

const orderForm = validator("form", ({ animal, key }, c) =>
  typeof animal === "string" && typeof key === "string" ? { animal, key } : c.notFound(),
);

// A double click sends the form twice, with the same key. The service then places one order.
shop.post("/orders", bodyLimit({ maxSize: 1_000 }), orderForm, async (c) => {
  const { animal, key } = c.req.valid("form");
  try {
    const { order } = await storeOf(c.env).orders.place({ petId: animal }, { idempotencyKey: key });
    return c.html(page("Thank you", `Your order has the number ${order.id}.`));
  } catch (error) {
    if (!(error instanceof PetStoreError && error.code === "pet_not_available")) throw error;
    return c.html(page("Somebody else was faster", "Please choose another animal."), 409);
  }
});

shop.onError((error, c) => {
  if (error instanceof HTTPException) return error.getResponse(); // A form of another site, or not like ours.
  const code = error instanceof PetStoreError ? error.code : error.name;
  // No page of the shop has such an id, cursor or key.
  if (["RangeError", "invalid_request", "idempotency_key_reused"].includes(code)) return c.notFound();
  console.error(error); // With the code and the request id.
  // The response may be lost. A reload sends the form with the same key.
  const isOrder = c.req.method === "POST";
  const content = isOrder ? "Your order may be placed. Reload this page: you order nothing twice." : CLOSED;
  return c.html(page("Please try again later", content), 503);
});

export default shop;

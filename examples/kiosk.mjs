// A page with the newest animals that updates by itself, on Node.js 20 or later.
import { createServer } from "node:http";
import { PetStore } from "@petstore/client";
import { html } from "hono/html";

const { BASE = "", KEY = "", PORT = "3000", IDLE } = process.env;
const session = new PetStore({ baseUrl: BASE, apiKey: KEY }).session();
const HEADERS = {
  "Cache-Control": "no-store",
  "Content-Security-Policy": "default-src 'none'; script-src 'self'; connect-src 'self'; frame-ancestors 'none'",
  "X-Content-Type-Options": "nosniff",
};
/** Shows each list that the kiosk sends. The browser connects again by itself. */
const SCRIPT = `new EventSource("/lists").onmessage = ({ data }) => (document.querySelector("ul").innerHTML = data);`;

/** @type {Set<import("node:http").ServerResponse>} */
const viewers = new Set();
let list = "";

async function showNewest() {
  const { items } = await session.pets.list({ status: "available", sort: "-id" }).page();
  list = String(await html`${items.map(({ name }) => html`<li>${name.replaceAll(/\s/g, " ")}</li>`)}`);
  for (const viewer of viewers) viewer.write(`data: ${list}\n\n`); // A line, because names have no line breaks any more.
}

createServer((request, response) => {
  if (request.url === "/lists") {
    response.writeHead(200, { ...HEADERS, "Content-Type": "text/event-stream" }).write(`data: ${list}\n\n`);
    viewers.add(response);
    response.on("close", () => viewers.delete(response));
  } else if (request.url === "/kiosk.js") {
    response.writeHead(200, { ...HEADERS, "Content-Type": "text/javascript" }).end(SCRIPT);
  } else {
    response.writeHead(200, { ...HEADERS, "Content-Type": "text/html; charset=utf-8" });
    response.end('<!doctype html><title>New here</title><h1>New here</h1><ul></ul><script src="/kiosk.js"></script>');
  }
}).listen(Number(PORT), () => console.log(`http://localhost:${PORT}`));

// One request each 2 to 30 seconds, for any number of viewers. A list only when an animal has changed.
const feed = session.events.follow({
  cursor: "latest",
  types: ["pet.created", "pet.updated", "pet.deleted"],
  onReset: showNewest,
  ...(IDLE && { idle: () => Number(IDLE) }), // Milliseconds.
});
for await (const _page of feed) await showNewest();

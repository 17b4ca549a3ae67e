// A page with the newest animals that updates by itself, and a search, on Node.js 20 or later.
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
const HTML = { ...HEADERS, "Content-Type": "text/html; charset=utf-8" };
const PAGE = `<!doctype html><title>New here</title><h1>New here</h1><ul></ul>
<form action="/found"><input name="q" maxlength="255" aria-label="Name"><button>Search</button></form>
<script src="/kiosk.js"></script>`;
/** Shows each list that the kiosk sends. The browser connects again by itself. */
const SCRIPT = `new EventSource("/lists").onmessage = ({ data }) => (document.querySelector("ul").innerHTML = data);`;

/** @type {Set<import("node:http").ServerResponse>} */
const viewers = new Set();
let list = "";

/** @param {{ name: string }[]} animals */
const write = async (animals) =>
  String(await html`${animals.map(({ name }) => html`<li>${name.replaceAll(/\s/g, " ")}</li>`)}`);

async function showNewest() {
  const { items } = await session.pets.list({ status: "available", sort: "-id" }).page();
  list = await write(items);
  for (const viewer of viewers) viewer.write(`data: ${list}\n\n`); // A line, because names have no line breaks any more.
}

/** @param {string} q */
async function find(q) {
  let page = await session.pets.list({ status: "available", q }).page();
  const found = [...page.items];
  // Pages of a search may be short or empty. Nobody waits for more than ten.
  for (let pages = 1; pages < 10 && page.cursor !== undefined && found.length < 20; pages++) {
    page = (await page.next()) ?? page;
    found.push(...page.items);
  }
  return write(found);
}

createServer(async (request, response) => {
  const [path, query] = (request.url ?? "").split("?");
  if (path === "/lists") {
    response.writeHead(200, { ...HEADERS, "Content-Type": "text/event-stream" }).write(`data: ${list}\n\n`);
    viewers.add(response);
    response.on("close", () => viewers.delete(response));
  } else if (path === "/kiosk.js") {
    response.writeHead(200, { ...HEADERS, "Content-Type": "text/javascript" }).end(SCRIPT);
  } else if (path === "/found") {
    const q = new URLSearchParams(query).get("q") ?? "";
    const found = await find(q).catch(() => "<li>Please search for something else</li>");
    response.writeHead(200, HTML).end(`<!doctype html><title>Found</title><ul>${found}</ul>`);
  } else {
    response.writeHead(200, HTML).end(PAGE);
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

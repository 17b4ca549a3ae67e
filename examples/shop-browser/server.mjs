// The server of the shop in index.html, on Node.js 20.11 or later: a login, a token for the customer, and the files of the page.
import { createHash, randomUUID } from "node:crypto";
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { PetStore } from "@petstore/client";

const { BASE = "", KEY = "", PORT = "3000" } = process.env;
const store = new PetStore({ baseUrl: BASE, apiKey: KEY });
/** @param {string} text */
const sha256 = (text) => createHash("sha256").update(text);

/** The customer of each session. @type {Map<string, string>} */
const customers = new Map();

/** @type {Record<string, (form: URLSearchParams, session: string) => Promise<{ status: number, body?: string, cookie?: string }>>} */
const actions = {
  // Put your login here, with a password. A customer is an opaque id of yours, and no name or mail address.
  async "/login"(form) {
    const session = randomUUID();
    customers.set(session, sha256(form.get("name") ?? "").digest("hex"));
    return { status: 204, cookie: `session=${session}; HttpOnly; SameSite=Strict` };
  },
  async "/token"(_form, session) {
    const customer = customers.get(session);
    if (customer === undefined) return { status: 401 };
    const { token } = await store.token({ customer, expiresIn: 900 }); // Seconds.
    return { status: 200, body: token };
  },
};

const CLIENT = dirname(fileURLToPath(import.meta.resolve("@petstore/client")));
const read = (/** @type {string} */ file, folder = import.meta.dirname) => readFileSync(join(folder, file), "utf8");
const page = read("index.html").replace("BASE", BASE);
const [, map = ""] = /<script type="importmap">(.*?)<\/script>/s.exec(page) ?? [];
const API = new URL(BASE).origin;
const HEADERS = {
  "Cache-Control": "no-store",
  // Nothing but the files of the shop runs, and only the shop and the API get requests and sockets.
  "Content-Security-Policy": `default-src 'none'; script-src 'self' 'sha256-${sha256(map).digest("base64")}'; style-src 'self'; img-src data:; connect-src 'self' ${API} ${API.replace("http", "ws")}; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`,
  "X-Content-Type-Options": "nosniff",
};

/** The type and the content of a file of the page. @param {string} path */
function fileAt(path) {
  if (path === "/") return ["text/html", page];
  if (path === "/shop.css") return ["text/css", read("shop.css")];
  if (path === "/shop.mjs") return ["text/javascript", read("shop.mjs")];
  const [, module] = /^\/client\/([\w-]+\.js)$/.exec(path) ?? [];
  return module ? ["text/javascript", read(module, CLIENT)] : [];
}

/** @param {import("node:http").IncomingMessage} request @returns {Promise<{ status: number, body?: string, type?: string, cookie?: string }>} */
async function respond(request) {
  const { method, url = "", headers } = request;
  if (method === "GET") {
    const [type, body] = fileAt(url);
    return body === undefined ? { status: 404 } : { status: 200, body, type: `${type}; charset=utf-8` };
  }
  let form = "";
  for await (const chunk of request) if (form.length <= 1_000) form += chunk;
  // No other site may log a visitor in. Older browsers do not send Sec-Fetch-Site.
  const { host, origin = "", "sec-fetch-site": site } = headers;
  const isOwn = site ? site === "same-origin" : [`http://${host}`, `https://${host}`].includes(origin);
  const act = method === "POST" && isOwn && form.length <= 1_000 ? actions[url] : undefined;
  const [, session = ""] = /(?:^|; )session=([\w-]+)/.exec(headers.cookie ?? "") ?? [];
  return act?.(new URLSearchParams(form), session) ?? { status: 404 };
}

createServer(async (request, response) => {
  const { status, body, type, cookie } = await respond(request).catch((error) => {
    console.error(error); // With the code and the request id.
    return { status: 503, body: undefined, type: undefined, cookie: undefined };
  });
  if (cookie) response.setHeader("Set-Cookie", cookie);
  response.writeHead(status, { ...HEADERS, "Content-Type": type ?? "text/plain" }).end(body);
}).listen(Number(PORT), () => console.log(`http://localhost:${PORT}`));

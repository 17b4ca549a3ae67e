// Lists every available animal, page by page, then adds one exactly once. Node.js 22 or later, no packages.
// Usage: node client.mjs http://localhost:8787/v1 <API key> [milliseconds before the first retry: 500]
const [base, key, firstPause = "500"] = process.argv.slice(2);

const ATTEMPTS = 6;
const LONGEST_PAUSE = 60 * Number(firstPause);
/** The service, or a gateway before it, is busy or starts anew. */
const PASSING = [408, 429, 502, 503, 504];

/** Where the last response stood. Sent back, it makes the next response show everything this client wrote. */
let bookmark;

/** Sends a request, again after a passing failure, and returns the response with its JSON. */
async function call(url, { method = "GET", headers = {}, body } = {}) {
  // To send a creation again is safe only with an Idempotency-Key: the first may have arrived.
  const attempts = method === "GET" || "Idempotency-Key" in headers ? ATTEMPTS : 1;
  for (let attempt = 1; ; attempt++) {
    const { response, text, error } = await send(url, { method, headers, body }).catch((error) => ({ error }));
    if (response?.ok) return { response, json: parse(text) };
    const passing = error !== undefined || PASSING.includes(response.status);
    if (!passing || attempt === attempts) throw error ?? new Error(`${response.status} ${text.slice(0, 500)}`);

    // Longer each time, and by chance, so that clients that failed together do not come back together.
    const backoff = Number(firstPause) * 2 ** (attempt - 1) * (0.5 + Math.random() / 2);
    const retryAfter = 1_000 * Number(response?.headers.get("Retry-After")) || 0;
    const pause = Math.min(Math.max(backoff, retryAfter), LONGEST_PAUSE);
    await new Promise((resolve) => setTimeout(resolve, pause));
  }
}

async function send(url, { method, headers, body }) {
  const all = { Authorization: `Bearer ${key}`, ...headers, ...(bookmark && { "x-d1-bookmark": bookmark }) };
  const response = await fetch(url, { method, headers: all, body, signal: AbortSignal.timeout(30_000) });
  bookmark = response.headers.get("x-d1-bookmark") ?? bookmark;
  return { response, text: await response.text() };
}

/** Integers as BigInt: the API has 64-bit integers, and a number is exact up to 2^53 only. */
function parse(json) {
  return JSON.parse(json, (_name, value, { source }) => (/^-?\d+$/.test(source) ? BigInt(source) : value));
}

function stringify(value) {
  return JSON.stringify(value, (_name, item) => (typeof item === "bigint" ? JSON.rawJSON(`${item}`) : item));
}

let url = `${base}/pets?status=available&limit=100`;
while (url) {
  const { response, json } = await call(url);
  for (const animal of json) console.log(`${animal.id} ${animal.name}`);
  url = /<([^>]+)>; rel="next"/.exec(response.headers.get("Link"))?.[1];
}

const { json: animal } = await call(`${base}/pets`, {
  method: "POST",
  headers: { "Content-Type": "application/json", "Idempotency-Key": crypto.randomUUID() },
  body: stringify({ name: "Juno the Jay", categoryId: 2n ** 62n + 1n }),
});
console.log(`added ${stringify(animal)}`);

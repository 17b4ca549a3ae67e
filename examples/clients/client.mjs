// Adds an animal exactly once, lists the available animals and fetches the new one. Node.js 22 or later, no packages.
// Usage: BASE=http://localhost:8787/v1 KEY=<API key> node client.mjs
const { BASE, KEY = "" } = process.env;
// An error about a malformed header would print the key.
if (!/^[!-~]+$/.test(KEY)) throw new Error("KEY has to be visible ASCII characters.");
const ATTEMPTS = 6;
/** Seconds that the service may ask for. */
const LONGEST_WAIT = 120;

/** Of the last response. The next one then shows at least as much. */
let bookmark;

/** A request that failed. `passing` tells whether another attempt may succeed, `retryAfter` the seconds to wait for it. */
class Failure extends Error {
  constructor(message, passing, retryAfter = 0) {
    super(message);
    Object.assign(this, { passing, retryAfter });
  }
}

/** Sends a request once. Returns the JSON and the headers of the response. */
async function send(path, { headers, ...init }) {
  const all = { ...headers, Authorization: `Bearer ${KEY}`, ...(bookmark && { "x-d1-bookmark": bookmark }) };
  let response, text;
  try {
    response = await fetch(BASE + path, { ...init, headers: all, signal: AbortSignal.timeout(30_000) });
    text = await response.text();
  } catch (error) {
    throw new Failure(`No response: ${error.cause?.code ?? error.name}`, true);
  }
  bookmark = response.headers.get("x-d1-bookmark") ?? bookmark;
  const json = parse(text);
  if (response.ok && json) return { json, headers: response.headers };

  // Without a code, the response comes from a proxy, or lacks its end.
  const { code, message = "The response does not come from the service." } = json ?? {};
  const { status } = response;
  const passing = [408, 429, 503].includes(status) || (code === undefined && (response.ok || status >= 500));
  const id = response.headers.get("X-Request-Id");
  // A date, which a proxy may send, counts as none.
  const retryAfter = Number(response.headers.get("Retry-After")) || 0;
  throw new Failure(`${status} ${code ?? ""}: ${message} Request id: ${id}`, passing, retryAfter);
}

/** Sends a request, again after a failure that may pass. A creation needs an Idempotency-Key for this. */
async function call(path, init = {}) {
  for (let attempt = 1; ; attempt++) {
    try {
      return await send(path, init);
    } catch (error) {
      if (!error.passing || error.retryAfter > LONGEST_WAIT || attempt === ATTEMPTS) throw error;
      // Longer each time, and by chance, so that clients that failed together do not come back together.
      const backoff = 500 * 2 ** (attempt - 1) * (0.5 + Math.random() / 2);
      await new Promise((resolve) => setTimeout(resolve, 1_000 * error.retryAfter + backoff));
    }
  }
}

/** JSON with its integers as BigInt: a number is exact up to 2^53 only. Undefined when it is none. */
function parse(text) {
  try {
    return JSON.parse(text, (_name, value, { source }) => (/^-?\d+$/.test(source) ? BigInt(source) : value));
  } catch {
    return undefined;
  }
}

const stringify = (value) =>
  JSON.stringify(value, (_name, item) => (typeof item === "bigint" ? JSON.rawJSON(`${item}`) : item));

const show = (verb, { id, name, categoryId }) => console.log(`${verb} ${id}: ${name}, category ${categoryId}`);

try {
  const { json: animal } = await call("/pets", {
    method: "POST",
    headers: { "Content-Type": "application/json", "Idempotency-Key": crypto.randomUUID() },
    body: stringify({ name: "Juno the Jay", categoryId: 2n ** 63n - 1n }),
  });
  show("Added", animal);

  const firstPage = "/pets?status=available&limit=100";
  let page = firstPage;
  while (page !== undefined) {
    const { json, headers } = await call(page);
    for (const listed of json) show("Listed", listed);
    const cursor = /[?&](cursor=[\w-]+)[^>]*>; rel="next"/.exec(headers.get("Link"))?.[1];
    page = cursor && `${firstPage}&${cursor}`;
  }

  const { json } = await call(`/pets?id=${animal.id}`);
  show("Fetched", json[0]);
} catch (error) {
  if (!(error instanceof Failure)) throw error;
  console.error(error.message);
  process.exitCode = 1;
}

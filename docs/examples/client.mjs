// Lists every available animal, page by page, then adds one exactly once. Node.js 20 or later, no packages.
// Usage: node client.mjs http://localhost:8787/v1 <API key>
const [base, key] = process.argv.slice(2);
const headers = { Authorization: `Bearer ${key}` };
let bookmark;

async function call(url, init = {}) {
  for (let attempt = 1; ; attempt++) {
    const all = { ...headers, ...init.headers, ...(bookmark && { "x-d1-bookmark": bookmark }) };
    const response = await fetch(url, { ...init, headers: all }).catch((error) => {
      if (attempt === 5) throw error;
    });
    // The response was lost. A retry is safe for reads, and for creations with an Idempotency-Key.
    if (response === undefined) continue;
    bookmark = response.headers.get("x-d1-bookmark") ?? bookmark;
    if (response.ok) return response;
    const { code, message, status } = await response.json();
    if (status !== 429 && status !== 503) throw new Error(`${code}: ${message}`);
    await new Promise((resolve) => setTimeout(resolve, 1_000 * Number(response.headers.get("Retry-After"))));
  }
}

let url = `${base}/pets?status=available&limit=100`;
while (url) {
  const response = await call(url);
  for (const animal of await response.json()) console.log(animal.id, animal.name);
  url = /<(.+)>; rel="next"/.exec(response.headers.get("Link") ?? "")?.[1];
}

const created = await call(`${base}/pets`, {
  method: "POST",
  headers: { "Content-Type": "application/json", "Idempotency-Key": crypto.randomUUID() },
  body: JSON.stringify({ name: "Juno the Jay", categoryId: 3 }),
});
console.log("added", await created.json());

// Samples of each operation in several languages, for the reference. The renderer's own samples round large integers in bodies.
import type { OperationObject, ParameterObject } from "openapi3-ts/oas31";
import { readPackages } from "./packages.ts";
import { write } from "./read.ts";

/** A new key for each reader of the page: page/reference.js fills it in. */
const NEW_UUID = "{uuid}";

/** The calls of the client, by operation id. It sends an `Idempotency-Key` by itself. */
const CALLS: { [operationId: string]: string } = {
  listPets: `for await (const animal of store.pets.list({ status: "available" })) {
  console.log(animal.id, animal.name);
}`,
  createPet: `const { animal, etag } = await store.pets.create({
  name: "Ada the Alpaca",
  categoryId: 1n,
});
console.log(animal.id, etag);`,
  createPets: `const count = await store.pets.createMany([
  { name: "Ada the Alpaca", categoryId: 1n },
  { name: "Gil the Goldfish", categoryId: 8n },
]);
console.log(count);`,
  updatePets: `const count = await store.pets.updateMany([
  { id: 1n, version: 1, status: "pending" },
  { id: 2n, version: 1, name: "Max" },
]);
console.log(count);`,
  getPet: `const { animal, etag } = await store.pets.get(1n);
console.log(animal.name, etag);`,
  updatePet: `const { animal } = await store.pets.update(
  1n,
  { status: "pending" },
  { ifMatch: '"1"' },
);
console.log(animal.status);`,
  deletePet: `await store.pets.delete(1n);`,
  listCategories: `for await (const category of store.categories.list()) {
  console.log(category.id, category.name);
}`,
  createCategory: `const { category } = await store.categories.create({
  name: "Reptiles",
  description: "Lizards, snakes and turtles.",
});
console.log(category.id);`,
  getCategory: `const { category, etag } = await store.categories.get(1n);
console.log(category.name, etag);`,
  updateCategory: `const { category } = await store.categories.update(1n, {
  name: "Camelids",
});
console.log(category.name);`,
  deleteCategory: `await store.categories.delete(5n);`,
  listOrders: `for await (const order of store.orders.list({ status: "placed" })) {
  console.log(order.id, order.petId);
}`,
  placeOrder: `const { order } = await store.orders.place({ petId: 2n });
console.log(order.id, order.status);`,
  getOrder: `const { order } = await store.orders.get(1n);
console.log(order.status);`,
  getInventory: `const { inventory, age } = await store.orders.inventory();
console.log(inventory.available, age);`,
  updateOrder: `const { order } = await store.orders.ship(1n);
console.log(order.shipDate);`,
  cancelOrder: `await store.orders.cancel(2n);`,
  listEvents: `const { events, cursor, more } = await store.events.list({
  types: ["pet.created"],
});
for (const event of events) console.log(event.type, event.data);
console.log(cursor, more);`,
  listWebhooks: `for await (const webhook of store.webhooks.list()) {
  console.log(webhook.id, webhook.url);
}`,
  createWebhook: `const { webhook } = await store.webhooks.create({
  url: "https://hooks.example.com/pets",
  types: ["pet.created", "pet.updated"],
});
console.log(webhook.id, await store.webhooks.secret(webhook.id));`,
  getWebhook: `const { webhook } = await store.webhooks.get(1n);
console.log(webhook.url, webhook.enabled);`,
  updateWebhook: `const { webhook } = await store.webhooks.update(1n, {
  enabled: true,
});
console.log(webhook.enabled);`,
  deleteWebhook: `await store.webhooks.delete(2n);`,
  getWebhookState: `const { health, pending } = await store.webhooks.state(1n);
console.log(health, pending);`,
  getWebhookSecret: `const secret = await store.webhooks.secret(1n);
console.log(secret.length);`,
  rotateWebhookSecret: `const secret = await store.webhooks.rotateSecret(1n);
console.log(secret.length);`,
  testWebhook: `const { response, error } = await store.webhooks.test(1n);
console.log(response, error);`,
  replayWebhook: `const { cursor } = await store.events.list({ limit: 1 });
const { replay } = await store.webhooks.replay(1n, cursor);
console.log(replay?.end);`,
  stopReplay: `await store.webhooks.stopReplay(1n);`,
  listDeliveries: `const { deliveries } = await store.webhooks.deliveries(1n);
for (const { event, status } of deliveries) console.log(event, status);`,
  getKey: `const { name, scopes } = await store.key();
console.log(name, scopes);`,
};

interface Sample {
  lang: string;
  label: string;
  source: string;
}

interface Request {
  method: string;
  url: string;
  /** All but `Authorization`. */
  headers: [name: string, value: string][];
  body?: string;
}

/** `path` is the one in the document. */
export function samplesOf(method: string, path: string, operation: OperationObject): Sample[] {
  const request: Request = {
    method: method.toUpperCase(),
    url: `{base}${withExamples(path, operation)}`,
    headers: [],
    ...bodyOf(operation),
  };
  if (operation.parameters?.some((parameter) => "name" in parameter && parameter.name === "Idempotency-Key"))
    request.headers.push(["Idempotency-Key", NEW_UUID]);
  return [
    { lang: "typescript", label: "TypeScript", source: typescript(operation) },
    { lang: "curl", label: "curl", source: curl(request) },
    { lang: "javascript", label: "JavaScript", source: javascript(request) },
    { lang: "python", label: "Python", source: python(request) },
    { lang: "go", label: "Go", source: go(request) },
  ];
}

function withExamples(path: string, { parameters = [] }: OperationObject): string {
  return path.replaceAll(/\{(\w+)\}/g, (_, name: string) => {
    const parameter = parameters.find((one): one is ParameterObject => "name" in one && one.name === name);
    return encodeURIComponent(write(parameter?.example));
  });
}

function bodyOf({ requestBody }: OperationObject): Pick<Request, "headers" | "body"> | undefined {
  if (requestBody === undefined || "$ref" in requestBody) return undefined;
  const [[mediaType, { examples = {} }] = ["", {}]] = Object.entries(requestBody.content);
  const [example] = Object.values(examples);
  const text = write(example === undefined || "$ref" in example ? undefined : example.value);
  if (/['`\\]/.test(text)) throw new Error(`The samples cannot quote ${text}`);
  return { headers: [["Content-Type", mediaType]], body: text };
}

function typescript({ operationId = "" }: OperationObject): string {
  const call = CALLS[operationId];
  if (call === undefined) throw new Error(`openapi/samples.ts has no call of the client for ${operationId}.`);
  return `// npm install {origin}/docs/${readPackages().at(-1)?.file}
import { PetStore } from "@petstore/client";

const { KEY: apiKey = "" } = process.env;
const store = new PetStore({ baseUrl: "{base}", apiKey });

${call}`;
}

function curl({ method, url, headers, body }: Request): string {
  const lines = [
    method === "GET" ? `curl "${url}"` : `curl -X ${method} "${url}"`,
    '-H "Authorization: Bearer $KEY"',
    ...headers.map(([name, value]) => `-H "${name}: ${value}"`),
    ...(body === undefined ? [] : [`-d '${body}'`]),
  ];
  return lines.join(" \\\n  ");
}

/** Says what an `Idempotency-Key` is for, in a comment that begins so. */
const adviceOn = (name: string, comment: string) =>
  name === "Idempotency-Key" ? ` ${comment} The same in a retry, and new for the next request.` : "";

function javascript({ method, url, headers, body }: Request): string {
  const lines = headers.map(([name, value]) => `\n    "${name}": "${value}",${adviceOn(name, "//")}`);
  return `const response = await fetch("${url}", {
  method: "${method}",
  headers: {
    Authorization: \`Bearer \${process.env.KEY}\`,${lines.join("")}
  },${body === undefined ? "" : `\n  body: '${body}',`}
});
// JSON.parse would round large integers.
console.log(response.status, await response.text());`;
}

function python({ method, url, headers, body }: Request): string {
  const lines = headers.map(([name, value]) => `\n        "${name}": "${value}",${adviceOn(name, " #")}`);
  return `import os
import requests

response = requests.request(
    "${method}",
    "${url}",
    headers={
        "Authorization": "Bearer " + os.environ["KEY"],${lines.join("")}
    },${body === undefined ? "" : `\n    data='${body}',`}
)
print(response.status_code, response.text)`;
}

function go({ method, url, headers, body }: Request): string {
  const [reader, imports] = body === undefined ? ["nil", ""] : [`strings.NewReader(\`${body}\`)`, '\n\t"strings"'];
  const lines = headers.map(([name, value]) => `\n\trequest.Header.Set("${name}", "${value}")${adviceOn(name, "//")}`);
  return `package main

import (
	"fmt"
	"io"
	"net/http"
	"os"${imports}
)

func main() {
	request, err := http.NewRequest("${method}", "${url}", ${reader})
	if err != nil {
		panic(err)
	}
	request.Header.Set("Authorization", "Bearer "+os.Getenv("KEY"))${lines.join("")}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		panic(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		panic(err)
	}
	fmt.Println(response.Status, string(text))
}`;
}

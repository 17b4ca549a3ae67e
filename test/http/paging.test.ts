import { createExecutionContext } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { Hono } from "hono";
import { expect, test } from "vitest";
import type { AppEnv } from "../../src/env.ts";
import { lifecycle } from "../../src/http/lifecycle.ts";
import { addNextPage } from "../../src/http/paging.ts";
import { json } from "../../src/http/respond.ts";

// workerd takes a malformed Host.
test.each<[origin: string, inLink: string]>([
  ["https://pets.example", "https://pets.example"],
  ["http://[::1]:8787", "http://[::1]:8787"],
  ...["pets>.example", 'pets".example', "pets,example", "pets example", "user@pets.example", "pets;x", "p\u00e9ts"].map(
    (host): [string, string] => [`https://${host}`, ""],
  ),
])("the next page from %j keeps the parameters of the path and every filter, encoded", async (origin, inLink) => {
  const filters = { limit: 2, name: "a&b=c/ö", id: ["1", "2"], status: undefined };
  const app = new Hono<AppEnv>().use(lifecycle).get("/v1/categories/:categoryId/pets", (c) => {
    addNextPage(c, filters, "AAAAAAAAAAKLLL5F");
    return json(c, [], 200);
  });
  const request = new Request("https://pets.example/v1/categories/7%2F8/pets?limit=2");
  Object.defineProperty(request, "url", { value: request.url.replace("https://pets.example", origin) });
  const response = await app.fetch(request, env, createExecutionContext());
  expect(response.headers.get("Link")).toBe(
    `<${inLink}/v1/categories/7%2F8/pets?limit=2&name=a%26b%3Dc%2F%C3%B6&id=1&id=2&cursor=AAAAAAAAAAKLLL5F>; rel="next"`,
  );
});

import { env } from "cloudflare:workers";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { call, expectError, expectJson, ORIGIN } from "../support/client.ts";
import { grantKey } from "../support/keys.ts";

let key: string;
let reader: string;
beforeAll(async () => {
  key = await grantKey();
  reader = await grantKey({ scopes: ["pets:read"] });
});

const list = (query = "") => call(`/v1/categories${query}`, { key });
const categories = Array.from({ length: 45 }, (_, index) => ({ id: index + 1, name: `Category ${45 - index}` }));

test("without categories the list is empty", async () => {
  const response = await list();
  expect(await expectJson(response, 200)).toEqual([]);
  expect([response.headers.get("Link"), response.headers.get("ETag")]).toEqual([null, null]);
});

describe("with categories", () => {
  beforeAll(async () => {
    const insert = env.DB.prepare("INSERT INTO categories (name) VALUES (?)");
    await env.DB.batch(categories.map(({ name }) => insert.bind(name)));
  });
  afterAll(() => env.DB.exec("DELETE FROM categories"));

  test("the pages show every category once, in the order of ids", async () => {
    const seen = [];
    const sizes = [];
    for (let path: string | undefined = "/v1/categories"; path !== undefined;) {
      const response: Response = await call(path, { key });
      const page = (await expectJson(response, 200)) as object[];
      seen.push(...page);
      sizes.push(page.length);
      path = /^<https:\/\/pets\.example(.+)>; rel="next"$/.exec(response.headers.get("Link") ?? "")?.[1];
    }
    expect(seen).toEqual(categories);
    expect(sizes).toEqual([20, 20, 5]);
  });

  test("the link keeps the limit", async () => {
    const response = await list("?limit=44");
    expect(await expectJson(response, 200)).toEqual(categories.slice(0, 44));
    expect(response.headers.get("Link")).toMatch(new RegExp(`^<${ORIGIN}/v1/categories\\?limit=44&cursor=[\\w-]{16}>`));
    expect((await list("?limit=45")).headers.get("Link")).toBeNull();
  });
});

test.each(["limit=0", "limit=101", "limit=x", "cursor=x", "limit=1&limit=2"])("%s is refused", async (query) => {
  await expectError(await list(`?${query}`), "invalid_request");
});

test("pets:read permits listing and nothing else", async () => {
  expect((await call("/v1/categories", { key: reader })).status).toBe(200);
  const request = { method: "POST", key: reader, body: { name: "A" } };
  await expectError(await call("/v1/categories", request), "insufficient_scope");
});

import { env } from "cloudflare:workers";
import fc from "fast-check";
import { beforeAll, describe, expect, test } from "vitest";
import type { Animal } from "../../src/pets/pet.ts";
import { call, expectError, expectJson, ORIGIN } from "../support/client.ts";
import { grantKey } from "../support/keys.ts";

const STATUSES = ["available", "pending", "sold"] as const;
const TOTAL = 250;

let key: string;
const animals: Animal[] = Array.from({ length: TOTAL }, (_, index) => ({
  id: index + 1,
  name: `Animal ${index + 1}`,
  categoryId: index % 7,
  status: STATUSES[index % 10 === 0 ? 2 : index % 2] ?? "available",
}));

async function list(query = ""): Promise<Response> {
  return call(`/v1/pets${query}`, { key });
}

/** The URL of the next page, as the Link header gives it. */
function nextPage(response: Response): URL | undefined {
  const link = response.headers.get("Link");
  const target = /^<([^>]+)>; rel="next"$/.exec(link ?? "")?.[1];
  if (link !== null) expect(target, "the Link header").toBeDefined();
  return target === undefined ? undefined : new URL(target);
}

test("an empty store is an empty array, without a next page", async () => {
  key = await grantKey();
  const response = await list();
  expect(await expectJson(response, 200)).toEqual([]);
  expect(response.headers.get("Link")).toBeNull();
});

describe("with animals in the store", () => {
  beforeAll(async () => {
    const insert = env.DB.prepare("INSERT INTO pets (name, category_id, status) VALUES (?, ?, ?)");
    await env.DB.batch(animals.map(({ name, categoryId, status }) => insert.bind(name, categoryId, status)));
  });

  test("the first page holds twenty animals in ascending order of id", async () => {
    expect(await expectJson(await list(), 200)).toEqual(animals.slice(0, 20));
  });

  test.each([1, 2, 99, 100])("limit=%i returns that many", async (limit) => {
    expect(await expectJson(await list(`?limit=${limit}`), 200)).toEqual(animals.slice(0, limit));
  });

  test.each([
    ["/v1/pets?limit=1", "limit=1&"],
    ["/v1/%70ets?limit=001&colour=red&limited=2", "limit=1&"],
    ["/v1/pets?&status=sold&", "status=sold&"],
    ["/v1/pets?cursorless=%3E#fragment", ""],
  ])("%s links to the one address of the next page", async (path, given) => {
    const link = (await call(path, { key })).headers.get("Link");
    expect(link).toMatch(new RegExp(`^<${ORIGIN}/v1/pets\\?${given}cursor=[\\w-]{16}>; rel="next"$`));
  });

  test("leading zeros are digits", async () => {
    expect(await expectJson(await list("?limit=007"), 200)).toHaveLength(7);
  });

  test.each([
    "0",
    "101",
    "-1",
    "+5",
    "1.5",
    "1e1",
    "0x10",
    "%205",
    "5%20",
    "",
    "abc",
    "1_0",
    "5&limit=5",
    "5&limit=6",
    "18446744073709551617",
    "%D9%A5",
    "null",
    "1%00",
  ])("limit=%s is refused, never clamped", async (limit) => {
    const message = await expectError(await list(`?limit=${limit}`), "invalid_request");
    expect(message).toBe("limit has to be an integer from 1 to 100, in decimal digits.");
  });

  test.each(STATUSES)("status=%s restricts the list to it", async (status) => {
    const expected = animals.filter((animal) => animal.status === status).slice(0, 20);
    expect(await expectJson(await list(`?status=${status}`), 200)).toEqual(expected);
  });

  test.each(["", "Sold", "gone", "sold%20", "sold&status=sold", "sold&status=pending", "sold,pending"])(
    "status=%s is refused",
    async (status) => {
      const message = await expectError(await list(`?status=${status}`), "invalid_request");
      expect(message).toBe("status has to be one of available, pending, sold.");
    },
  );

  test("a failure names every offending parameter", async () => {
    const message = await expectError(await list("?limit=0&status=gone&cursor=x"), "invalid_request");
    const fields = message.split("; ").map((part) => part.split(" ")[0]);
    expect(new Set(fields)).toEqual(new Set(["cursor", "limit", "status"]));
  });

  test("unknown parameters are ignored", async () => {
    const response = await list("?limit=1&page=2&offset=7&__proto__=x&constructor=y");
    expect(await expectJson(response, 200)).toEqual(animals.slice(0, 1));
    expect(nextPage(response)?.search).toMatch(/^\?limit=1&cursor=[\w-]{16}$/);
  });

  test("the next page keeps limit and status, on the same host", async () => {
    const next = nextPage(await list("?status=sold&limit=3"));
    expect(next?.origin).toBe(ORIGIN);
    expect(next?.pathname).toBe("/v1/pets");
    expect(next?.searchParams.get("status")).toBe("sold");
    expect(next?.searchParams.get("limit")).toBe("3");
  });

  test("a last page that is exactly full has no next page", async () => {
    const sold = animals.filter(({ status }) => status === "sold");
    const response = await list(`?status=sold&limit=${sold.length}`);
    expect(await expectJson(response, 200)).toEqual(sold);
    expect(response.headers.get("Link")).toBeNull();
    expect((await list(`?status=sold&limit=${sold.length - 1}`)).headers.get("Link")).not.toBeNull();
  });

  test("following the links visits every animal once and in order, whatever the limit and the filter", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.integer({ min: 5, max: 100 }),
        fc.option(fc.constantFrom(...STATUSES), { nil: undefined }),
        async (limit, status) => {
          const seen: Animal[] = [];
          let path: string | undefined = `/v1/pets?limit=${limit}${status === undefined ? "" : `&status=${status}`}`;
          while (path !== undefined) {
            const response: Response = await call(path, { key });
            seen.push(...((await expectJson(response, 200)) as Animal[]));
            const next = nextPage(response);
            path = next && next.pathname + next.search;
          }
          expect(seen).toEqual(animals.filter((animal) => status === undefined || animal.status === status));
        },
      ),
      { numRuns: 12 },
    );
  });

  test.each([
    "",
    "x",
    "AAAAAAAAAAAAAAAA",
    "0",
    "20",
    "AAAAAAAAAAKLLL5G",
    "AAAAAAAAAAKLLL5F=",
    "AAAAAAAAAAKLLL5F&cursor=AAAAAAAAAAKLLL5F",
    "%00",
    "!!!!!!!!!!!!!!!!",
  ])("cursor=%s is refused: we did not issue it", async (cursor) => {
    const message = await expectError(await list(`?cursor=${cursor}`), "invalid_request");
    expect(message).toBe("cursor has to be one that this service handed out in a Link header.");
  });

  test("a cursor past the last animal is an empty last page", async () => {
    const next = nextPage(await list(`?limit=100`));
    const cursor = nextPage(await call(`${next?.pathname}${next?.search}`, { key }))?.searchParams.get("cursor");
    await env.DB.exec("DELETE FROM pets WHERE id > 200");
    const response = await list(`?cursor=${cursor}`);
    expect(await expectJson(response, 200)).toEqual([]);
    expect(response.headers.get("Link")).toBeNull();
  });
});

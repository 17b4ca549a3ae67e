import { env } from "cloudflare:workers";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Int64 } from "../../src/exact/int64.ts";
import { encodeCursor } from "../../src/http/cursor.ts";
import type { Animal } from "../../src/pets/shape.ts";
import { call, expectError, expectJson, nextPage, ORIGIN } from "../support/client.ts";
import { key } from "../support/keys.ts";

const STATUSES = ["available", "pending", "sold"] as const;
const TOTAL = 250;

const animals: Animal[] = Array.from({ length: TOTAL }, (_, index) => ({
  id: index + 1,
  name: `Animal ${index + 1}`,
  categoryId: index % 7,
  status: STATUSES[index % 10 === 0 ? 2 : index % 2] ?? "available",
}));

async function list(query = ""): Promise<Response> {
  return call(`/v1/pets${query}`, { key });
}

test("an empty store returns an empty array without a next page", async () => {
  const response = await list();
  expect(await expectJson(response, 200)).toEqual([]);
  expect(response.headers.get("Link")).toBeNull();
});

describe("with animals in the store", () => {
  beforeAll(async () => {
    const insert = env.DB.prepare("INSERT INTO pets (name, category_id, status) VALUES (?, ?, ?)");
    await env.DB.batch(animals.map(({ name, categoryId, status }) => insert.bind(name, categoryId, status)));
  });
  afterAll(() => env.DB.exec("DELETE FROM pets"));

  test("the first page holds twenty animals in ascending order of id", async () => {
    expect(await expectJson(await list(), 200)).toEqual(animals.slice(0, 20));
  });

  test.each([
    ["/v1/pets?limit=1", "limit=1&"],
    ["/v1/%70ets?limit=001", "limit=1&"],
    ["/v1/pets?&status=sold&", "status=sold&"],
    ["/v1/pets?#fragment", ""],
  ])("%s links to the one address of the next page", async (path, given) => {
    const link = (await call(path, { key })).headers.get("Link");
    expect(link).toMatch(new RegExp(`^<${ORIGIN}/v1/pets\\?${given}cursor=[\\w-]{16}>; rel="next"$`));
  });

  test.each(["0", "101", "+5", "1.5", "1e1", "0x10", "%205", "", "abc", "%D9%A5"])(
    "limit=%s is refused, never clamped",
    async (limit) => {
      const message = await expectError(await list(`?limit=${limit}`), "invalid_request");
      expect(message).toBe("limit has to be an integer from 1 to 100, in decimal digits.");
    },
  );

  test.each(["", "Sold", "gone", "sold%20", "sold,pending"])("status=%s is refused", async (status) => {
    const message = await expectError(await list(`?status=${status}`), "invalid_request");
    expect(message).toBe("status has to be one of available, pending, sold.");
  });

  // Promise: every-invalid-field
  test("a failure names every invalid parameter", async () => {
    const message = await expectError(await list("?limit=0&status=gone&cursor=x"), "invalid_request");
    const fields = message.split("; ").map((part) => part.split(" ")[0]);
    expect(new Set(fields)).toEqual(new Set(["cursor", "limit", "status"]));
  });

  test("a full last page has no next page", async () => {
    const sold = animals.filter(({ status }) => status === "sold");
    const response = await list(`?status=sold&limit=${sold.length}`);
    expect(await expectJson(response, 200)).toEqual(sold);
    expect(response.headers.get("Link")).toBeNull();
    expect((await list(`?status=sold&limit=${sold.length - 1}`)).headers.get("Link")).not.toBeNull();
  });

  test("the next page keeps every filter", async () => {
    const path = nextPage(await list("?id=3&limit=1&id=17&id=10&categoryId=2&status=available"));
    const next = new URL(path ?? "", ORIGIN);
    expect(next.searchParams.getAll("id")).toEqual(["3", "17", "10"]);
    const { cursor: _, id: __, ...others } = Object.fromEntries(next.searchParams);
    expect(others).toEqual({ limit: "1", categoryId: "2", status: "available" });
    expect(await expectJson(await list(next.search), 200)).toEqual([animals[16]]);
  });

  const NO_INT64 = ["", "x", "01", "-0", "+1", "1.0", "1e3", "%201", "9223372036854775808", "null", "%D9%A1"];

  test.each([...NO_INT64, "1&id=x", "x&id=1"])("id=%s is refused", async (id) => {
    expect(await expectError(await list(`?id=${id}`), "invalid_request")).toBe(
      "id has to be 1 to 100 integers from -2^63 to 2^63 - 1, in decimal digits (id=2&id=8).",
    );
  });

  test.each([...NO_INT64, "1,2"])("categoryId=%s is refused", async (id) => {
    expect(await expectError(await list(`?categoryId=${id}`), "invalid_request")).toBe(
      "categoryId has to be an integer from -2^63 to 2^63 - 1, in decimal digits.",
    );
  });

  test("categories beyond 2^53 are distinguished", async () => {
    const categories = ["9007199254740992", "9007199254740993", "-9223372036854775808", "9223372036854775807"];
    const created = await Promise.all(
      categories.map((categoryId) =>
        call("/v1/pets", { method: "POST", key, body: `{"name": "Rex", "categoryId": ${categoryId}}` }),
      ),
    );
    for (const [index, categoryId] of categories.entries()) {
      for (const query of [`categoryId=${categoryId}`, `categoryId=${categoryId}&status=available`]) {
        expect(await (await list(`?${query}`)).text()).toBe(`[${await created[index]?.clone().text()}]`);
      }
    }
    await env.DB.exec(`DELETE FROM pets WHERE id > ${TOTAL}`);
  });

  test.each(["", "x", "AAAAAAAAAAKLLL5G", "AAAAAAAAAAKLLL5F="])(
    "cursor=%s is refused: we did not issue it",
    async (cursor) => {
      const message = await expectError(await list(`?cursor=${cursor}`), "invalid_request");
      expect(message).toBe("cursor has to be one that this service handed out in a Link header, with the same sort.");
    },
  );

  test("a cursor past the last animal returns an empty last page", async () => {
    const cursor = encodeCursor({ after: String(TOTAL) as Int64, sort: "id" });
    const response = await list(`?cursor=${cursor}`);
    expect(await expectJson(response, 200)).toEqual([]);
    expect(response.headers.get("Link")).toBeNull();
  });
});

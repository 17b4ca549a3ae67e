import { hc } from "hono/client";
import createClient from "openapi-fetch";
import { afterAll, beforeAll, expect, expectTypeOf, test } from "vitest";
import type { AppType } from "../../src/app-type.ts";
import type { ErrorBody } from "../../src/errors.ts";
import type { components, paths } from "../../client/src/schema.ts";
import { type BuiltService, startBuiltService } from "./service.ts";

let service: BuiltService;
beforeAll(async () => {
  service = await startBuiltService();
});
afterAll(() => service.harness.close());

const authorization = () => ({ Authorization: `Bearer ${service.key}` });

test("a client generated from the document lists, creates and fetches, with types", async () => {
  const client = createClient<paths>({ baseUrl: `${service.url.origin}/v1`, headers: authorization() });
  const created = await client.POST("/pets", {
    body: { name: "Rex", categoryId: 7, status: "pending" },
    params: { header: { "Idempotency-Key": "generated-client" } },
  });
  expectTypeOf(created.data).toEqualTypeOf<components["schemas"]["Animal"] | undefined>();
  expect(created.data).toEqual({ id: expect.any(Number), name: "Rex", categoryId: 7, status: "pending" });

  const listed = await client.GET("/pets", { params: { query: { limit: 1, status: "pending" } } });
  expect(listed.data).toEqual([created.data]);

  const fetched = await client.GET("/pets/{petId}", { params: { path: { petId: created.data?.id ?? 0 } } });
  expect(fetched.data).toEqual(created.data);

  const failed = await client.GET("/pets", { params: { query: { limit: 101 } } });
  expectTypeOf(failed.error).toEqualTypeOf<components["schemas"]["Error"] | undefined>();
  expect(failed.error).toMatchObject({ code: "invalid_request", status: 400 });

  // @ts-expect-error -- the document has no such status
  await client.GET("/pets", { params: { query: { status: "gone" } } });
});

test("Hono's RPC client knows the app's own types", async () => {
  const client = hc<AppType>(service.url.origin, { headers: authorization() });
  const created = await client.v1.pets.$post({ json: { name: "Max", categoryId: 8 } });
  if (created.status !== 201) throw new Error(`status ${created.status}`);
  const animal = await created.json();
  expectTypeOf(animal).toMatchObjectType<{
    id: number;
    name: string;
    categoryId: number;
    status: "available" | "pending" | "sold";
  }>();
  expect(animal).toMatchObject({ name: "Max", categoryId: 8, status: "available" });

  const listed = await client.v1.pets.$get({ query: { limit: "100", status: "available" } });
  expect(await listed.json()).toEqual([animal]);

  const fetched = await client.v1.pets[":petId"].$get({ param: { petId: String(animal.id) } });
  expect(await fetched.json()).toEqual(animal);

  const missing = await client.v1.pets[":petId"].$get({ param: { petId: "12345" } });
  if (missing.status !== 404) throw new Error(`status ${missing.status}`);
  const failure = await missing.json();
  expectTypeOf(failure).toEqualTypeOf<ErrorBody>();
  expect(failure).toMatchObject({ code: "not_found", status: 404 });

  // @ts-expect-error -- a name is required
  const failed = await client.v1.pets.$post({ json: { categoryId: 8 } });
  expect(failed.status).toBe(400);
});

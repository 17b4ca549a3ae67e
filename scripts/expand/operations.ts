import { deepEqual, equal } from "node:assert/strict";

// The stable operations, as a client sees them. Nothing here depends on a version of the code.

interface Animal {
  id: number;
  name: string;
}

/** The animal that was created before the migration, under this idempotency key. */
const BEFORE = { name: "Before", idempotencyKey: "before-the-migration" };

/** Uses the service on the schema that it knows. Returns an animal. Throws an AssertionError for a wrong response. */
export async function useBefore(url: URL, key: string): Promise<Animal> {
  const { status, body } = await create(url, key, BEFORE.name, BEFORE.idempotencyKey);
  equal(status, 201, `POST /v1/pets is ${status} before the migrations`);
  return body as Animal;
}

/** Uses every operation after the migration. Throws an AssertionError for a wrong response. */
export async function useAfter(url: URL, key: string, before: Animal): Promise<void> {
  const request = (path: string, init?: RequestInit) => send(url, key, path, init);
  expectStatus(await send(url, undefined, "/v1/pets"), 401, "GET /v1/pets without a key");
  expectStatus(await request("/v1/pets?limit=0"), 400, "GET /v1/pets?limit=0");
  expectStatus(await create(url, key, ""), 400, "POST /v1/pets without a name");
  expectStatus(await request("/v1/pets/999999"), 404, "GET of an animal that is not there");

  const old = await request(`/v1/pets/${before.id}`);
  expectStatus(old, 200, "GET of an animal from before");
  deepEqual(old.body, before, "an animal from before has changed");
  expectReplay(await create(url, key, BEFORE.name, BEFORE.idempotencyKey), before, "a creation from before");

  const created = await create(url, key, "After");
  expectStatus(created, 201, "POST /v1/pets");
  const once = await create(url, key, "Once", "after-the-migration");
  expectStatus(once, 201, "POST /v1/pets with an Idempotency-Key");
  expectReplay(await create(url, key, "Once", "after-the-migration"), once.body, "a creation");
  const list = await request("/v1/pets?limit=100");
  expectStatus(list, 200, "GET /v1/pets");
  deepEqual(list.body, [before, created.body, once.body], "GET /v1/pets lists other animals");
}

interface Answer {
  status: number;
  replayed: boolean;
  body: unknown;
}

function create(url: URL, key: string, name: string, idempotencyKey?: string): Promise<Answer> {
  return send(url, key, "/v1/pets", {
    method: "POST",
    body: JSON.stringify({ name, categoryId: 1 }),
    headers: {
      "Content-Type": "application/json",
      ...(idempotencyKey !== undefined && { "Idempotency-Key": idempotencyKey }),
    },
  });
}

async function send(url: URL, key: string | undefined, path: string, init: RequestInit = {}): Promise<Answer> {
  const headers = new Headers(init.headers);
  if (key !== undefined) headers.set("Authorization", `Bearer ${key}`);
  const response = await fetch(new URL(path, url), { ...init, headers });
  const replayed = response.headers.get("Idempotency-Replayed") === "true";
  return { status: response.status, replayed, body: await response.json() };
}

function expectStatus({ status }: Answer, expected: number, request: string): void {
  equal(status, expected, `${request} is ${status}, not ${expected}`);
}

function expectReplay(answer: Answer, body: unknown, creation: string): void {
  expectStatus(answer, 201, `the retry of ${creation}`);
  equal(answer.replayed, true, `the retry of ${creation} creates again`);
  deepEqual(answer.body, body, `the retry of ${creation} returns another animal`);
}

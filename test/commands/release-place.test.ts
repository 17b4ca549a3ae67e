import { expect, test } from "vitest";
import { Cloudflare } from "../../ops/release/cloudflare.ts";
import { type Database, prepareDatabase } from "../../ops/release/database.ts";
import { prepareNamespace } from "../../ops/release/namespace.ts";
import { ACCOUNT } from "./cloudflare/api.ts";
import { useAccount } from "./cloudflare/fixture.ts";

const account = useAccount("petstore-staging");

/** Prepares a database with somebody at the terminal who answers. */
function prepare(name: string, answer: string): Promise<Database> {
  const terminal = { print: () => {}, read: async () => "", say: () => {}, ask: async () => answer };
  return prepareDatabase(new Cloudflare(ACCOUNT, "token", terminal), name, {}, terminal);
}

test.each([
  ["weur", { primary_location_hint: "weur" }],
  [" eu\n", { jurisdiction: "eu" }],
])("a person who answers %j decides where the database is", async (answer, place) => {
  const name = `petstore-${answer.trim()}`;
  await prepare(name, answer);
  expect(account.api.databases.named(name)).toMatchObject({ ...place, read_replication: { mode: "auto" } });
});

test.each([
  ["paris", '"paris" is neither a location nor a jurisdiction. Nothing was created.'],
  ["", '"" is neither a location nor a jurisdiction. Nothing was created.'],
])("no database is created for the answer %j", async (answer, message) => {
  await expect(prepare("petstore-nowhere", answer)).rejects.toThrow(message);
  expect(account.api.databases.named("petstore-nowhere")).toBeUndefined();
});

test("an existing namespace without the jurisdiction of the database is said", async () => {
  const said: string[] = [];
  const terminal = { print: () => {}, read: async () => "", say: (text: string) => void said.push(text) };
  const cloudflare = new Cloudflare(ACCOUNT, "token", terminal);
  const wanted = { worker: "petstore-eu", bound: undefined, jurisdiction: "eu" };
  await prepareNamespace(cloudflare, wanted, terminal);
  expect(account.api.namespaces.titled("petstore-eu-api-keys")).toMatchObject({ jurisdiction: "eu" });
  expect(await prepareNamespace(cloudflare, wanted, terminal)).toMatchObject({ jurisdiction: "eu" });
  expect(said.join("\n")).not.toContain("is not");
  const without = account.api.namespaces.add("petstore-old-api-keys");
  expect(await prepareNamespace(cloudflare, { ...wanted, worker: "petstore-old" }, terminal)).toMatchObject({
    id: without.id,
  });
  expect(said.at(-1)).toContain(
    "The database is under the jurisdiction eu, and the KV namespace petstore-old-api-keys",
  );
});

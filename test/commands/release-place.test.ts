import { expect, test } from "vitest";
import { Cloudflare } from "../../scripts/release/cloudflare.ts";
import { prepareDatabase } from "../../scripts/release/database.ts";
import { ACCOUNT } from "./cloudflare/api.ts";
import { useSharedAccount } from "./cloudflare/fixture.ts";

const account = useSharedAccount();

/** Prepares a database with a person at the terminal who answers. */
function prepare(name: string, answer: string): Promise<void> {
  const terminal = { print: () => {}, read: async () => "", say: () => {}, ask: async () => answer };
  return prepareDatabase(new Cloudflare(ACCOUNT, terminal), name, {}, terminal);
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

import { env } from "cloudflare:workers";
import { eq, sql, type SQLWrapper } from "drizzle-orm";
import { expect, test } from "vitest";
import { changeFirst, changeLast, compileEvents, type Plan } from "../../src/changes/plan.ts";
import { compileInsert } from "../../src/changes/insert.ts";
import { compileInsertOfSeveral } from "../../src/changes/insert-several.ts";
import { compileUpdate } from "../../src/changes/update.ts";
import { category } from "../../src/categories/shape.ts";
import { compile, type Parameter } from "../../src/db/statement.ts";
import { STATEMENTS } from "../../drizzle/statements.ts";
import type { Int64 } from "../../src/exact/int64.ts";
import { pet } from "../../src/pets/shape.ts";
import { pets } from "../../src/pets/table.ts";
import { companion, missing, patchOfCategories, record, rename } from "./statements.ts";

const statement = rename({ id: 1 });
const events = record({ id: 1 });
const companions = companion({ id: 1 });
const namesOf = (plan: Plan) => plan.map(([name]) => name);

test("a plan has its order, whatever the order of its parts", () => {
  const parts = { entry: statement, companions, events, change: statement };
  expect(namesOf(changeFirst(parts))).toEqual(["changed", "followed", "followed", "followed", "stored"]);
  expect(namesOf(changeLast({ change: statement, events: statement, entry: statement }))).toEqual([
    "stored",
    "followed",
    "changed",
  ]);
});

// The compiler refuses each: `npm run check:types` fails when one of these lines is right.
test("what would break a retry, or leave an event for one row only, does not compile", () => {
  const change = { change: statement, events, entry: statement };
  // @ts-expect-error A statement that may change nothing would keep the entry from being stored.
  changeFirst({ ...change, companions: [statement] });
  // @ts-expect-error The same in the place of the entry of new rows.
  changeFirst({ ...change, kept: statement });
  // @ts-expect-error The events of a change under a condition of their own.
  compileEvents("test.another", pet, "pet.updated", (_db, parameter: Parameter<{ id: number }>) =>
    eq(pets.id, parameter("id")),
  );
  // @ts-expect-error A second event of one form.
  changeFirst({ ...change, companions: [events] });
  // @ts-expect-error The same.
  changeFirst({ ...change, events: [events, events] });
  // @ts-expect-error A change that forgets its events.
  changeFirst({ change: statement, entry: statement });
  // @ts-expect-error A plan in an order of its own.
  const plan: Plan = [["stored", statement]];
  expect(plan).toHaveLength(1);
});

// The same for names of fields and parameters.
test("a name that a statement does not know does not compile", () => {
  compile("test.find", (db, parameter: Parameter<{ id: number }>) => {
    // @ts-expect-error A parameter that the statement has not.
    parameter("ids");
    return db
      .select({ id: pets.id })
      .from(pets)
      .where(eq(pets.id, parameter("id")));
  });
  // @ts-expect-error A value for it.
  expect(() => rename({ ids: 1 })).toThrow("The parameter id of test.rename has no value");
  // @ts-expect-error In the plan of a change.
  expect(() => record({ ids: 1 })).toThrow("has no value");
  // @ts-expect-error The same.
  expect(() => companion({ ids: 1 })).toThrow("has no value");
  // @ts-expect-error A row whose values miss a column.
  compileInsert("test.insert", category, "category.created", (field: (name: "name") => SQLWrapper) => ({
    name: field("name"),
  }));
  const insert = compileInsert("test.insertNamed", category, "category.created", category.values, {
    // @ts-expect-error A rule for a field that the row has not.
    rule: { isBroken: (_db, { value }) => sql`${value("names")}`, error: missing },
  });
  const several = compileInsertOfSeveral("test.insertAll", category, "category.created", category.values);
  const patch = compileUpdate("test.update", category, "category.updated", {
    missing,
    // @ts-expect-error A set with a field that the resource has not.
    sets: [[], ["names"]],
    // @ts-expect-error The same of a column.
    also: (field) => ({ description: sql`${field("names")}` }),
  });
  // The calls alone: they need a request.
  const calls = [
    // @ts-expect-error A row with another field.
    () => insert(undefined as never, { names: "", description: "" }),
    // @ts-expect-error The same in a batch.
    () => several(undefined as never, [{ names: "", description: "" }]),
    // @ts-expect-error The same in a patch.
    () => patch.plans({ id: "1" as Int64, versions: null, excluded: null }, { names: "" }, undefined),
    // @ts-expect-error The same in a patch of several.
    () => patchOfCategories.several([{ id: "1" as Int64, names: "" }], undefined),
  ];
  expect(calls).toHaveLength(4);
});

/** The statements of patches, by what they have in common: each writes more fields with an index. */
const patches = Map.groupBy(Object.keys(STATEMENTS), (name) => /^(update.*)\.change(?:\.|$)/.exec(name)?.[1]);
patches.delete(undefined);

// A shipment always writes the status, which every index of its fields has, and so does what it does to its animal.
test.each([...patches.keys()].filter((patch) => !/\.(?:ship|pet)$/.test(patch ?? "")))(
  "%s writes no index for a field that it does not name",
  async (patch) => {
    const texts = patches.get(patch)?.map((name) => STATEMENTS[name] ?? "") ?? [];
    const written = texts.map((text) => new Set([...text.matchAll(/(?<=^set |, )(\w+) = /gm)].map(([, name]) => name)));
    const [, table] = /^update (\w+)/.exec(texts[0] ?? "") ?? expect.unreachable();
    const { results: indexes } = await env.DB.prepare(`PRAGMA index_list("${table}")`).all<{ name: string }>();
    const indexed = await Promise.all(
      indexes.map(({ name }) => env.DB.prepare(`PRAGMA index_info("${name}")`).all<{ name: string }>()),
    );
    const always = written.reduce((one, other) => one.intersection(other));
    expect(always.has("version")).toBe(true);
    for (const { results } of indexed) for (const { name } of results) expect(always, name).not.toContain(name);
  },
);

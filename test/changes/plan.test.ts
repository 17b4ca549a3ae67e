import { eq } from "drizzle-orm";
import { expect, test } from "vitest";
import { changeFirst, changeLast, compileEvents, type Plan } from "../../src/changes/plan.ts";
import { pet } from "../../src/pets/shape.ts";
import { pets } from "../../src/pets/table.ts";
import { companion, id, record, rename } from "./statements.ts";

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
  compileEvents("test.another", pet, "pet.updated", () => eq(pets.id, id));
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

import { sql } from "drizzle-orm";
import { derive, type Versioned } from "../db/resource.ts";
import { compile, type Parameter, type QueryBuilder } from "../db/statement.ts";
import type { Int64 } from "../exact/int64.ts";
import type { EventType } from "../feed/table.ts";
import type { Attempt } from "../idempotency/attempt.ts";
import { insertEntry, isUnused, NO_ATTEMPT, type Once } from "../idempotency/entry.ts";
import type { Found, Patch, Patched } from "./fields.ts";
import { changesOfItems, type Items } from "./items.ts";
import { changeLast, ifChanged } from "./plan.ts";
import type { Options } from "./update.ts";

/** The patch of one row among several. The other fields are those to change. */
export interface Item {
  id: Int64;
  /** The version that the row has to have. Any unless given. */
  version?: number | undefined;
}

type Parameters = Items & Once;

/** The items, unless the key has an entry. */
const unlessKnown = (db: QueryBuilder, parameter: Parameter<Parameters>) =>
  sql`iif(${isUnused(db, parameter)}, ${parameter("items")}, NULL)`;

/**
 * Compiles the patches of several rows, all of them or none. The events come before the UPDATE, and with an `Idempotency-Key` the entry
 * before the events: afterwards, no row tells whether the batch changed it. So both are made of the rows as they will be.
 *
 * @returns what `patchRows` takes.
 */
export function compileUpdateOfSeveral<
  Body,
  Table extends Versioned,
  Field extends string & keyof Table["_"]["columns"],
  Column extends string,
>(
  operation: string,
  resource: Patched<Body, Table, Field, Column>,
  event: EventType,
  { missing, sets = [[]], rules = [] }: Pick<Options<NoInfer<Field>>, "missing" | "sets" | "rules">,
) {
  const { table } = resource;
  const all = changesOfItems(operation, resource, event, rules, sets);
  const store = compile(`${operation}.store`, (db, parameter: Parameter<Parameters>) =>
    insertEntry(db, parameter, resource, undefined, {
      from: all.rowsAfter(db, unlessKnown(db, parameter)),
      body: sql`json_group_array(json(json_insert(${resource.body()}, '$.version', ${table.version})) ORDER BY place)`,
      having: sql`sum(met) = ${parameter("count")}`,
    }).returning({ stored: sql<1>`1`.as("stored") }),
  );
  const recordStored = compile(`${operation}.recordStored`, (db, parameter: Parameter<Parameters>) =>
    all.insertRecords(db, ifChanged(parameter("items"))),
  );
  // The entry has the response, if there is one.
  const select = compile<Parameters, Found<Body>[]>(`${operation}.select`, (db, parameter: Parameter<Parameters>) => {
    const rows = all.rowsOf(unlessKnown(db, parameter));
    return db.select(all.changeOfItem().found(db)).from(rows);
  });

  const several = (items: readonly (Item & Patch<Field>)[], attempt: Attempt | undefined) => {
    const rows = JSON.stringify(items.map((item) => derive(resource, item)));
    const parameters = { items: rows, count: items.length, ...(attempt ?? NO_ATTEMPT) };
    const steps = { change: all.change(items)(parameters), select: select(parameters) };
    const plan =
      attempt === undefined
        ? changeLast({ events: all.record(parameters), change: steps.change })
        : changeLast({ entry: store(parameters), events: recordStored(parameters), change: steps.change });
    return { plan, select: steps.select };
  };
  return { missing, rules, several };
}

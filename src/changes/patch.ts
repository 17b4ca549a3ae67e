import { and, eq, getTableColumns, or, type SQL, sql } from "drizzle-orm";
import type { SQLiteColumn } from "drizzle-orm/sqlite-core";
import type { Resource, Stored, Versioned } from "../db/resource.ts";
import { compileConsequence, sequence } from "../db/sequence.ts";
import type { Session } from "../db/session.ts";
import { compile, type Parameter, type QueryBuilder, type Statement } from "../db/statement.ts";
import { compileEvent } from "../feed/event.ts";
import type { EventType } from "../feed/table.ts";
import type { Attempt } from "../idempotency/attempt.ts";
import { checkRequest, type Entry, insertEntry, isUnused, selectEntry } from "../idempotency/entry.ts";
import { hasVersion, type Target } from "./version.ts";

/**
 * The statements of one patch. A `sequence`: the change of the row, which returns `changed` if it changes one, its event, and what
 * follows from it. Under an `Idempotency-Key`, the last one stores the entry of the key, and returns `stored`. There may be another
 * sequence. None for a patch without fields and key.
 */
export type Patch = Statement<unknown>[];

/**
 * Compiles the statement that stores the entry of a patch, as the last of its sequence, or alone for a patch without fields. It stores a
 * patch that changed the row, or that had nothing to change. A refused patch leaves the key unused.
 *
 * @param isAllowed the condition under which a patch is not refused.
 */
export function compileStore<Parameters extends Target & Attempt>(
  resource: Resource<unknown>,
  isAllowed: (db: QueryBuilder, parameter: Parameter<Parameters>) => SQL | undefined,
) {
  const { table } = resource;
  const store = (db: QueryBuilder, parameter: Parameter<Parameters>, isChanged?: SQL) => {
    const hadNothingToChange = and(hasVersion(table.version, parameter), isAllowed(db, parameter));
    const where = and(eq(table.id, parameter("id")), isUnused(db, parameter), or(isChanged, hadNothingToChange));
    return insertEntry(db, parameter, resource, where).returning({ stored: sql<1>`1`.as("stored") });
  };
  return {
    after: compileConsequence((db, parameter: Parameter<Parameters>, ifChanged) =>
      store(db, parameter, ifChanged(sql`1`)),
    ),
    alone: compile((db, parameter: Parameter<Parameters>) => store(db, parameter)),
  };
}

type Parameters<Fields extends string> = Target & { [Field in Fields]: unknown };

/**
 * Compiles the patches of a row, one for each set of fields, so that an omitted field and its index are not written. A patch
 * that changes nothing leaves the row and its version unchanged.
 *
 * @param type of the event. Undefined for a resource whose changes leave none.
 * @param condition a further condition for a patch of these fields, or undefined.
 */
export function compilePatch<Table extends Versioned, Fields extends string & keyof Table["_"]["columns"]>(
  resource: Resource<unknown, Table> & { readonly fields: { readonly [Field in Fields]: unknown } },
  type: EventType | undefined,
  condition: (
    db: QueryBuilder,
    parameter: Parameter<Parameters<Fields>>,
    fields: readonly Fields[],
  ) => SQL | undefined = () => undefined,
) {
  const { table } = resource;
  const columns: { [column: string]: SQLiteColumn } = getTableColumns(table);
  const compiled = new Map<string, ReturnType<typeof compileFields>>();
  const record = type && compileEvent(type, resource);
  return (target: Target, patch: { [Field in Fields]?: unknown }, attempt: Attempt | undefined): Patch => {
    const fields = (Object.keys(resource.fields) as Fields[]).filter((field) => patch[field] !== undefined);
    const name = fields.join();
    const { update, updateOnce, store } = compiled.get(name) ?? compileFields(fields);
    compiled.set(name, { update, updateOnce, store });
    const changes = fields.length > 0;
    const parameters = { ...patch, ...target };
    const recorded = record ? [record(target)] : [];
    if (attempt === undefined) return changes ? sequence(update(parameters), ...recorded) : [];
    const once = { ...parameters, ...attempt };
    return changes ? sequence(updateOnce(once), ...recorded, store.after(once)) : [store.alone(once)];
  };

  function compileFields(fields: Fields[]) {
    const update = (db: QueryBuilder, parameter: Parameter<Parameters<Fields>>, more?: SQL) => {
      const differs = fields.map((field) => sql`${columns[field]} IS NOT ${parameter(field)}`);
      const values = Object.fromEntries(fields.map((field) => [field, sql`${parameter(field)}`]));
      return db
        .update<Versioned>(table)
        .set({ ...values, version: sql`${table.version} + 1` })
        .where(
          and(
            eq(table.id, parameter("id")),
            hasVersion(table.version, parameter),
            or(...differs),
            condition(db, parameter, fields),
            more,
          ),
        )
        .returning({ changed: sql<1>`1`.as("changed") });
    };
    return {
      update: compile((db, parameter: Parameter<Parameters<Fields>>) => update(db, parameter)),
      updateOnce: compile((db, parameter: Parameter<Parameters<Fields> & Attempt>) =>
        update(db, parameter, isUnused(db, parameter)),
      ),
      store: compileStore<Parameters<Fields> & Attempt>(resource, (db, parameter) => condition(db, parameter, fields)),
    };
  }
}

/** The outcome of a patch. */
export interface Outcome<Row> {
  /** With an `Idempotency-Key`: its entry, from this attempt or an earlier one. */
  entry: Entry | undefined;
  /** Whether the entry is from an earlier attempt. */
  replayed: boolean;
  /** The row as it is now. */
  row: Row | undefined;
  /** Whether this attempt changed it. */
  changed: boolean;
}

/**
 * Applies a patch in one round trip. With an `Idempotency-Key`, the patch is applied once and the request can be repeated.
 *
 * @param select reads the row.
 * @param isRepeatable whether, without a key, a second run changes nothing and is not refused, even after another change of the row in
 *   between.
 * @throws ApiError `idempotency_key_reused` when the key came with another request.
 */
export async function applyPatch<Row extends Stored<unknown>>(
  session: Session,
  statements: Patch,
  select: Statement<Row>,
  attempt: Attempt | undefined,
  isRepeatable = false,
): Promise<Outcome<Row>> {
  const all: Statement<unknown>[] = [...statements, ...(attempt === undefined ? [] : [selectEntry(attempt)]), select];
  const results =
    attempt === undefined && !isRepeatable ? await session.writeOnce(all) : await session.writeRepeatably(all);
  const has = (mark: "changed" | "stored") => results.some(([row]) => Object.hasOwn(row ?? {}, mark));
  const row = results.at(-1)?.[0] as Row | undefined;
  const changed = has("changed");
  if (attempt === undefined) return { entry: undefined, replayed: false, row, changed };
  const entry = results.at(-2)?.[0] as Entry | undefined;
  if (entry !== undefined) checkRequest(entry, attempt);
  return { entry, replayed: !has("stored"), row, changed };
}

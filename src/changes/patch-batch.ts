import { and, eq, getTableColumns, or, type SQL, type SQLWrapper, sql } from "drizzle-orm";
import type { SQLiteColumn } from "drizzle-orm/sqlite-core";
import { type Resource, type Stored, storedColumns, type Versioned, withVersion } from "../db/resource.ts";
import { ANY_NUMBER, compileConsequence, sequence } from "../db/sequence.ts";
import type { Session } from "../db/session.ts";
import { compile, type Parameter, type QueryBuilder } from "../db/statement.ts";
import { ApiError } from "../errors.ts";
import type { Int64 } from "../exact/int64.ts";
import { insertEvents } from "../feed/event.ts";
import type { EventType } from "../feed/table.ts";
import type { Attempt } from "../idempotency/attempt.ts";
import { insertEntry, isUnused } from "../idempotency/entry.ts";
import { type Creation, writeOnceUnderKey } from "./creation.ts";

/** The patch of one row in a batch. The other fields are those to change. */
interface Item {
  id: Int64;
  /** The version that the row has to have. Any unless given. */
  version?: number | undefined;
}

interface Parameters {
  /** A JSON array of the items: one text, because D1 binds at most 100 values. */
  items: string;
  count: number;
}

/** A rule that rows with a patch of one field may break. */
interface Conflict<Field> {
  field: Field;
  /** SQL that is true for a row that does not allow it. */
  exists: (db: QueryBuilder) => SQL;
}

/** A row after the batch, and whether it breaks the rule of `Conflict`, also without a patch of its field. */
type Found<Body> = Stored<Body> & { conflicts: 0 | 1 };

/**
 * Compiles the patches of several rows, all of them or none. There is one statement for each set of fields that some item names, so that
 * the index of another field is not written. A row that its item does not change keeps its version, and has no event.
 *
 * The events come before the UPDATE, and with an `Idempotency-Key` the entry before the events: afterwards, no row tells whether the
 * batch changed it. So both are made of the rows as they will be.
 *
 * @param type of the events.
 * @param conflict decides in the same transaction. Rows whose item does not name its field may break it.
 */
export function compilePatchBatch<Body, Table extends Versioned, Field extends string & keyof Table["_"]["columns"]>(
  resource: Resource<Body, Table> & { readonly fields: { readonly [Name in Field]: unknown } },
  type: EventType,
  conflict: Conflict<NoInfer<Field>>,
) {
  const { table, body } = resource;
  const columns: { [column: string]: SQLiteColumn } = getTableColumns(table);
  const compiled = new Map<string, ReturnType<typeof compileFields>>();
  return (items: readonly Item[]) => {
    const fields = (Object.keys(resource.fields) as Field[]).filter((field) =>
      items.some((item: { [name in Field]?: unknown } & Item) => item[field] !== undefined),
    );
    const name = fields.join();
    const statements = compiled.get(name) ?? compileFields(fields);
    compiled.set(name, statements);
    return statements;
  };

  function compileFields(fields: Field[]) {
    // No items, and so no rows, from NULL.
    const each = (items: SQLWrapper) => sql`json_each(${items}) AS item`;
    // Without CAST, an id would be a text, and the events and the responses would show it as one.
    const id = sql`CAST(item.value ->> 'id' AS INTEGER)`;
    const isNamed = (field: Field) => sql`json_type(item.value, ${sql.raw(`'$.${field}'`)}) IS NOT NULL`;
    const values = Object.fromEntries(
      fields.map((field) => {
        const column = columns[field] as SQLiteColumn;
        const value = sql`CAST(item.value ->> ${sql.raw(`'${field}'`)} AS ${sql.raw(column.getSQLType())})`;
        return [field, sql`iif(${isNamed(field)}, ${value}, ${column})`];
      }),
    );
    const differs = or(...fields.map((field) => sql`${columns[field]} IS NOT ${values[field]}`)) ?? sql`0`;
    const conflicts = (db: QueryBuilder) => (fields.includes(conflict.field) ? conflict.exists(db) : sql<0>`0`);
    const isMet = (db: QueryBuilder) => {
      const hasVersion = sql`coalesce(${table.version} = item.value ->> 'version', 1)`;
      return sql`(${hasVersion} AND NOT (${isNamed(conflict.field)} AND ${conflicts(db)}))`;
    };
    const rowsOf = (items: SQLWrapper) => sql`${each(items)} CROSS JOIN ${table} ON ${table.id} = ${id}`;
    /** The rows as they will be, under the name of the table. */
    const after = (db: QueryBuilder, items: SQLWrapper) => {
      const all = Object.entries(columns).map(([field, column]) => {
        const value = field === "version" ? sql`${column} + (${differs})` : (values[field] ?? column);
        return sql`${value} AS ${sql.identifier(column.name)}`;
      });
      const more = sql`item.key AS place, ${differs} AS differs, ${isMet(db)} AS met`;
      return sql`(SELECT ${sql.join(all, sql`, `)}, ${more} FROM ${rowsOf(items)}) AS ${table}`;
    };
    const record = (db: QueryBuilder, items: SQLWrapper) =>
      insertEvents(db, type, resource, sql`differs`, { from: after(db, items) });
    const select = (db: QueryBuilder, items: SQLWrapper) =>
      db
        .select({ ...storedColumns(resource), conflicts: sql<0 | 1>`${conflicts(db)}`.as("conflicts") })
        .from(table as Versioned)
        .where(sql`${table.id} IN (SELECT ${id} FROM ${each(items)})`) as never;
    const unlessKnown = (db: QueryBuilder, parameter: Parameter<Parameters & Attempt>) =>
      sql`iif(${isUnused(db, parameter)}, ${parameter("items")}, NULL)`;
    return {
      record: compile((db, parameter: Parameter<Parameters>) => {
        const met = sql`SELECT count(*) FROM ${rowsOf(parameter("items"))} WHERE ${isMet(db)}`;
        return record(db, sql`iif((${met}) = ${parameter("count")}, ${parameter("items")}, NULL)`);
      }),
      store: compile((db, parameter: Parameter<Parameters & Attempt>) =>
        insertEntry(db, parameter, resource, undefined, {
          from: after(db, unlessKnown(db, parameter)),
          body: sql`json_group_array(json(json_insert(${body()}, '$.version', ${table.version})) ORDER BY place)`,
          having: sql`sum(met) = ${parameter("count")}`,
        }).returning({ stored: sql<1>`1`.as("stored") }),
      ),
      recordStored: compileConsequence((db, parameter: Parameter<Parameters>, ifChanged) =>
        record(db, ifChanged(parameter("items"))),
      ),
      update: compileConsequence((db, parameter: Parameter<Parameters>, ifChanged) =>
        db
          .update<Versioned>(table)
          .set({ ...values, version: sql`${table.version} + 1` })
          .from(each(ifChanged(parameter("items"), ANY_NUMBER)))
          .where(and(eq(table.id, id), differs))
          .returning({ changed: sql<1>`1`.as("changed") }),
      ),
      select: compile<Parameters, Found<Body>[]>((db, parameter: Parameter<Parameters>) =>
        select(db, parameter("items")),
      ),
      // The entry has the response, if there is one.
      selectUnlessKnown: compile<Parameters & Attempt, Found<Body>[]>(
        (db, parameter: Parameter<Parameters & Attempt>) => select(db, unlessKnown(db, parameter)),
      ),
    };
  }
}

/** The failures of a batch, for its items that have no row, or one that does not allow the patch. */
interface Failures<One> {
  missing: () => ApiError;
  /** Whether a patch names the field of the conflict. */
  isAffected: (item: One) => boolean;
  conflict: () => ApiError;
}

/**
 * Patches all rows or none, in one round trip. Under an `Idempotency-Key` it happens once.
 *
 * Only a key makes it repeatable. Without one, a second run after a lost response could undo what somebody else changed in between. With
 * the version of every item it could not, but it would fail with 412 for its own success.
 *
 * @param attempt undefined without an `Idempotency-Key`.
 * @returns the rows in the order of the items, each with its version.
 * @throws ApiError `idempotency_key_reused` when the key came with another request, and the first of `missing`, `conflict` and
 *   `precondition_failed` that applies, with its places.
 */
export async function patchBatch<Body, One extends Item>(
  session: Session,
  compiled: ReturnType<typeof compilePatchBatch<Body, Versioned, never>>,
  items: readonly One[],
  attempt: Attempt | undefined,
  { missing, isAffected, conflict }: Failures<One>,
): Promise<Omit<Creation<(Body & { version: number })[]>, "id">> {
  const { record, store, recordStored, update, select, selectUnlessKnown } = compiled(items);
  const batch = { items: JSON.stringify(items), count: items.length };
  let rows: Found<Body>[];
  let isChanged = false;
  if (attempt === undefined) {
    const [, changed, found] = await session.writeOnce([...sequence(record(batch), update(batch)), select(batch)]);
    [isChanged, rows] = [changed.length > 0, found];
  } else {
    const once = { ...batch, ...attempt };
    const statements = sequence(store(once), recordStored(once), update(once));
    const { first, entry, read } = await writeOnceUnderKey(session, statements, attempt, selectUnlessKnown(once));
    if (entry !== undefined) return { response: entry.response, replayed: first === undefined };
    rows = read;
  }
  const byId = new Map(rows.map((row) => [row.id, row]));
  const all = items.map((item) => ({ item, row: byId.get(item.id) }));
  if (!isChanged) {
    /** Throws the failure if it applies to an item. */
    const check = (failure: () => ApiError, applies: (item: One, row: Found<Body> | undefined) => boolean) => {
      const places = all.flatMap(({ item, row }, place) => (applies(item, row) ? [place] : []));
      if (places.length === 0) return;
      const { code, message } = failure();
      throw new ApiError(code, `${places.join(", ")}: ${message}`);
    };
    check(missing, (_, row) => row === undefined);
    check(conflict, (item, row) => row?.conflicts === 1 && isAffected(item));
    check(anotherVersion, ({ version }, row) => version !== undefined && version !== row?.version);
    if (attempt !== undefined) throw new Error("The patch of a batch was not stored");
  }
  return { response: `[${all.map(({ row }) => row && withVersion(row)).join()}]`, replayed: false };
}

const anotherVersion = () => new ApiError("precondition_failed", "The present version is another one.");

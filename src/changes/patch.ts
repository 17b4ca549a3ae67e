import { and, eq, getTableColumns, or, type SQL, type SQLWrapper, sql } from "drizzle-orm";
import type { SQLiteColumn } from "drizzle-orm/sqlite-core";
import type { Session } from "../db/session.ts";
import { compile, type Parameter, type QueryBuilder, type Statement } from "../db/statement.ts";
import type { Int64 } from "../exact/int64.ts";
import type { Preconditions } from "../http/precondition.ts";
import type { Attempt } from "./attempt.ts";
import { compileEvent } from "./event.ts";
import { checkRequest, isUnknown, type Memory, recall, remember, type Versioned } from "./memory.ts";
import type { EventType } from "./table.ts";

/** The parameters of `hasVersion`. Each is a JSON array of versions, because D1 binds a hundred values at most. */
interface VersionsParameters {
  /** The versions to change, or null for any. */
  versions: string | null;
  /** The versions to leave as they are, if any. */
  excluded: string | null;
}

/** The row to change. */
export interface Target extends VersionsParameters {
  id: Int64;
}

/** The condition of a change: the version of the row meets the preconditions. */
export function hasVersion(version: SQLiteColumn, parameter: Parameter<VersionsParameters>): SQL {
  const [versions, excluded] = [parameter("versions"), parameter("excluded")];
  const isIn = (list: SQLWrapper) => sql`${version} IN (SELECT value FROM json_each(${list}))`;
  return sql`(${versions} IS NULL OR ${isIn(versions)}) AND (${excluded} IS NULL OR NOT ${isIn(excluded)})`;
}

/** The values for the parameters of `hasVersion`. */
export function versionsParameters({ ifMatch, ifNoneMatch }: Preconditions): VersionsParameters {
  // Every row has a version, so `*` excludes all.
  if (ifNoneMatch === "*") return { versions: "[]", excluded: null };
  return { versions: toJson(ifMatch), excluded: toJson(ifNoneMatch) };
}

const toJson = (versions: readonly number[] | undefined) => (versions === undefined ? null : JSON.stringify(versions));

/** The statements of one patch. */
export interface Patch {
  /**
   * Statements that change the row and the rows that depend on it, each followed by its event. The first returns a row if it
   * changes one. Each of the others runs only if the previous one changed a row.
   */
  changes: Statement<unknown>[];
  /** Keeps the response under the `Idempotency-Key`. */
  remember?: Statement<unknown> | undefined;
}

/**
 * The statement that remembers a patch, after its changes. It stores a patch that changed the row, or that had nothing to
 * change. A refused patch leaves the key unused.
 *
 * @param response SQL for the body of the response.
 * @param isAllowed the condition under which a patch is not refused.
 * @param changes whether another statement precedes. Without one, `changes()` returns the count of an earlier transaction.
 */
export function rememberPatch(
  db: QueryBuilder,
  parameter: Parameter<Target & Attempt>,
  table: Versioned,
  response: SQL<string>,
  isAllowed: SQL | undefined,
  changes = true,
) {
  const hadNothingToChange = and(hasVersion(table.version, parameter), isAllowed);
  const where = and(
    eq(table.id, parameter("id")),
    isUnknown(db, parameter),
    changes ? or(sql`changes() = 1`, hadNothingToChange) : hadNothingToChange,
  );
  return remember(db, parameter, table, response, where).returning({ remembered: sql<1>`1`.as("remembered") });
}

type Parameters<Fields extends string> = Target & { [Field in Fields]: unknown };

/**
 * Compiles the patches of a row, one for each set of fields, so that an omitted field and its index are not written. A patch
 * that changes nothing leaves the row and its version unchanged.
 *
 * @param type of the event.
 * @param schema of the patch. Its fields are columns of the table.
 * @param response SQL for the body of the response, and for the data of the event.
 * @param condition a further condition for a patch of these fields, or undefined.
 */
export function compilePatch<Table extends Versioned, Fields extends string & keyof Table["_"]["columns"]>(
  table: Table,
  type: EventType,
  schema: () => { shape: { [Field in Fields]: unknown } },
  response: () => SQL<string>,
  condition: (
    db: QueryBuilder,
    parameter: Parameter<Parameters<Fields>>,
    fields: readonly Fields[],
  ) => SQL | undefined = () => undefined,
) {
  const columns: { [column: string]: SQLiteColumn } = getTableColumns(table);
  const compiled = new Map<string, ReturnType<typeof compileFields>>();
  const record = compileEvent(type, table, response);
  return (target: Target, patch: { [Field in Fields]?: unknown }, attempt: Attempt | undefined): Patch => {
    const fields = (Object.keys(schema().shape) as Fields[]).filter((field) => patch[field] !== undefined);
    const name = fields.join();
    const { update, updateOnce, remember } = compiled.get(name) ?? compileFields(fields);
    compiled.set(name, { update, updateOnce, remember });
    const parameters = { ...patch, ...target };
    if (attempt === undefined) return { changes: fields.length === 0 ? [] : [update(parameters), record(target)] };
    const once = { ...parameters, ...attempt };
    return { changes: fields.length === 0 ? [] : [updateOnce(once), record(target)], remember: remember(once) };
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
        update(db, parameter, isUnknown(db, parameter)),
      ),
      remember: compile((db, parameter: Parameter<Parameters<Fields> & Attempt>) =>
        rememberPatch(db, parameter, table, response(), condition(db, parameter, fields), fields.length > 0),
      ),
    };
  }
}

/** The outcome of a patch. */
export interface Outcome<Row> {
  /** With an `Idempotency-Key`: its entry, from this attempt or an earlier one. */
  memory: Memory | undefined;
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
 * @param isRepeatable whether, without a key, a second run changes nothing and returns the same, even after another change of
 *   the row in between.
 * @throws ApiError `idempotency_key_reused` when the key came with another request.
 */
export async function applyPatch<Row>(
  session: Session,
  { changes, remember }: Patch,
  select: Statement<Row>,
  attempt: Attempt | undefined,
  isRepeatable = false,
): Promise<Outcome<Row>> {
  const memorised = attempt === undefined || remember === undefined ? [] : [remember, recall(attempt)];
  const statements: Statement<unknown>[] = [...changes, ...memorised, select];
  const results =
    attempt === undefined && !isRepeatable
      ? await session.writeOnce(statements)
      : await session.writeRepeatably(statements);
  const first = (index: number) => results.at(index)?.[0];
  const row = first(-1) as Row | undefined;
  const changed = changes.length > 0 && first(0) !== undefined;
  if (attempt === undefined) return { memory: undefined, replayed: false, row, changed };
  const memory = first(-2) as Memory | undefined;
  if (memory !== undefined) checkRequest(memory, attempt);
  return { memory, replayed: first(-3) === undefined, row, changed };
}

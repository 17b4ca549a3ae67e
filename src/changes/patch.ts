import { and, eq, getTableColumns, or, type SQL, sql } from "drizzle-orm";
import type { SQLiteColumn, SQLiteTable } from "drizzle-orm/sqlite-core";
import type { Int64 } from "../exact/int64.ts";
import type { Session } from "../db/session.ts";
import { compile, type Parameter, type QueryBuilder, type Statement } from "../db/statement.ts";

/** A table whose rows count their changes. */
type Versioned = SQLiteTable & { id: SQLiteColumn; version: SQLiteColumn };

/** The versions of a row that a change applies to; undefined for any. */
export type Versions = readonly number[] | undefined;

/** The condition of a change: the row has one of the versions, which are the parameter `versions`, of `versionsParameter`. */
export function hasVersion(version: SQLiteColumn, parameter: Parameter<{ versions: string | null }>): SQL {
  const versions = parameter("versions");
  return sql`(${versions} IS NULL OR ${version} IN (SELECT value FROM json_each(${versions})))`;
}

/** The value for the parameter of `hasVersion`. One text, because D1 binds a hundred values at most. */
export function versionsParameter(versions: Versions): string | null {
  return versions === undefined ? null : JSON.stringify(versions);
}

/** The parameters of a patch: those of its row, and the fields that it names. */
type PatchParameters<Fields extends string> = { id: Int64; versions: string | null } & { [Field in Fields]: unknown };

/**
 * Compiles the UPDATEs that apply a patch, one for each set of fields that patches name: a field that is left out is not written,
 * nor its index. A patch that changes nothing leaves the row as it is, with its version.
 *
 * @param schema of the patch. Its fields are columns of the table.
 * @param condition holds as well, for a patch that names these fields; undefined when nothing more is asked.
 * @returns makes the statement; none for a patch without fields.
 */
export function compilePatch<Table extends Versioned, Fields extends string & keyof Table["_"]["columns"]>(
  table: Table,
  schema: () => { shape: { [Field in Fields]: unknown } },
  condition: (
    db: QueryBuilder,
    parameter: Parameter<PatchParameters<Fields>>,
    fields: readonly Fields[],
  ) => SQL | undefined = () => undefined,
) {
  const columns: { [column: string]: SQLiteColumn } = getTableColumns(table);
  const compiled = new Map<string, (parameters: PatchParameters<Fields>) => Statement<never>>();
  return (id: Int64, patch: { [Field in Fields]?: unknown }, versions: Versions): Statement<never>[] => {
    const fields = (Object.keys(schema().shape) as Fields[]).filter((field) => patch[field] !== undefined);
    if (fields.length === 0) return [];
    const name = fields.join();
    const make = compiled.get(name) ?? compileFields(fields);
    compiled.set(name, make);
    return [make({ ...patch, id, versions: versionsParameter(versions) })];
  };

  function compileFields(fields: Fields[]) {
    return compile((db, parameter: Parameter<PatchParameters<Fields>>) => {
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
          ),
        );
    });
  }
}

/**
 * Runs the statements of a change in one transaction, and returns the row after them; undefined when there is none.
 *
 * @param select of the row.
 * @param isRepeatable whether a second run changes nothing, even when somebody else changed the row between the two.
 */
export async function applyChange<Row>(
  session: Session,
  changes: readonly Statement<never>[],
  select: Statement<Row>,
  isRepeatable: boolean,
): Promise<Row | undefined> {
  const statements = [...changes, select];
  const results = isRepeatable
    ? await session.writeRepeatably<Row[]>(statements)
    : await session.writeOnce<Row[]>(statements);
  return results.at(-1)?.[0];
}

/**
 * Whether a patch is in effect on a row, after `applyChange`. It is, too, when it took effect in an earlier
 * attempt: the row is then one version further, and what was asked for (RFC 9110, section 13.1.1).
 */
export function isInEffect(row: { version: number }, patch: object, versions: Versions): boolean {
  if (versions === undefined || versions.includes(row.version)) return true;
  const fields = Object.entries(patch).filter(([, value]) => value !== undefined);
  return (
    versions.includes(row.version - 1) &&
    fields.length > 0 &&
    fields.every(([field, value]) => (row as { [field: string]: unknown })[field] === value)
  );
}

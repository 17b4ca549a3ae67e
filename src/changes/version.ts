import { type SQL, type SQLWrapper, sql } from "drizzle-orm";
import type { SQLiteColumn } from "drizzle-orm/sqlite-core";
import type { Parameter } from "../db/statement.ts";
import type { Int64 } from "../exact/int64.ts";
import type { Preconditions } from "../http/precondition.ts";

/** The parameters of `hasVersion`. Each is a JSON array of versions, because D1 binds at most 100 values (docs/standards.md). */
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

// A change is a transaction in which each statement depends on the one before. A plan has the statements of one change, in their order.
import { and, eq, gt, lte, type SQL, type SQLWrapper, sql } from "drizzle-orm";
import type { Context } from "hono";
import type { Resource, Versioned } from "../db/resource.ts";
import type { Session } from "../db/session.ts";
import { type Built, compile, type Parameter, type QueryBuilder, type Statement } from "../db/statement.ts";
import type { AppEnv } from "../env.ts";
import type { Int64 } from "../exact/int64.ts";
import type { Json } from "../exact/json.ts";
import { insertEvents } from "../feed/event.ts";
import type { EventType } from "../feed/table.ts";
import type { Attempt } from "../idempotency/attempt.ts";
import { checkRequest, type Entry, insertEntry, selectEntry, type SeveralRows } from "../idempotency/entry.ts";

declare const kind: unique symbol;
/** The condition that the previous statement changed these rows. A consequence has no other, so it changes a row whenever that one did. */
type Changed = SQL & { readonly [kind]: "changed" };
type RowsOf<Parameters> = (db: QueryBuilder, parameter: Parameter<Parameters>) => Changed;
/** A statement that changes a row whenever the previous one did. Only this file makes one. */
export type Consequence = Statement<unknown> & { readonly [kind]: "consequence" };
/** The consequence that writes the events of a change. A plan has one, so that a change of one row leaves what a change of several does. */
type Events = Statement<unknown> & { readonly [kind]: "events" };

/** A value if the previous statement changed this number of rows. Otherwise NULL, which nothing equals: no row is read. */
export const ifChanged = (value: SQLWrapper, count: SQLWrapper = sql`1`): SQL =>
  sql`iif(changes() = ${count}, ${value}, NULL)`;
/** Any number of rows but none, for `ifChanged`. */
export const ANY_NUMBER = sql`max(changes(), 1)`;

export const changedRow = ({ id: column }: Versioned, id: SQLWrapper) => eq(column, ifChanged(id)) as Changed;

/**
 * The changed rows of consecutive ids.
 *
 * @param last of the ids.
 * @param changes of the previous statement, unless it wrote one row for all.
 */
export const changedRows = ({ id: column }: Versioned, last: SQLWrapper, count: SQLWrapper, changes?: SQLWrapper) =>
  // D1 binds a number as a float (docs/standards.md), which would round the difference of a large id.
  and(gt(column, ifChanged(sql`${last} - CAST(${count} AS INTEGER)`, changes)), lte(column, last)) as Changed;

const compileAs = <Kind, Parameters extends object>(
  name: string,
  build: (db: QueryBuilder, parameter: Parameter<Parameters>) => Built<unknown>,
) => compile(name, build) as (parameters: Parameters) => unknown as (parameters: Parameters) => Kind;

/** @param type undefined for a resource whose changes leave no events. */
export const compileEvents = <Parameters extends object = {}>(
  name: string,
  resource: Resource<unknown>,
  type: EventType | undefined,
  rows: RowsOf<Parameters>,
) =>
  type === undefined
    ? (_parameters: Parameters) => undefined
    : compileAs<Events, Parameters>(name, (db, parameter) => insertEvents(db, type, resource, rows(db, parameter)));

/** The entry of the key, with new rows. */
export const compileEntry = <Parameters extends object = {}>(
  name: string,
  resource: Resource<unknown>,
  rows: RowsOf<Parameters>,
  several?: (parameter: Parameter<Parameters>) => SeveralRows,
) =>
  compileAs<Consequence, Parameters & Attempt>(name, (db, parameter) =>
    insertEntry(db, parameter, resource, rows(db, parameter), several?.(parameter)),
  );

/** The change of another row that belongs to a change, with its event. */
export function compileCompanion<Table extends Versioned, Parameters extends object>(
  name: string,
  resource: Resource<unknown, Table>,
  type: EventType,
  set: { [Column in keyof Table["_"]["columns"]]?: Table["_"]["columns"][Column]["_"]["data"] },
  idOf: (db: QueryBuilder, parameter: Parameter<Parameters>) => SQLWrapper,
) {
  const { table } = resource;
  const row: RowsOf<Parameters> = (db, parameter) => changedRow(table, idOf(db, parameter));
  const change = compileAs<Consequence, Parameters>(`${name}.change`, (db, parameter) =>
    db
      .update<Versioned>(table)
      .set({ ...set, version: sql`${table.version} + 1` })
      .where(row(db, parameter)),
  );
  const record = compileAs<Consequence, Parameters>(`${name}.record`, (db, parameter) =>
    insertEvents(db, type, resource, row(db, parameter)),
  );
  return (parameters: Parameters): readonly Consequence[] => [change(parameters), record(parameters)];
}

type Name = "changed" | "followed" | "stored" | "entry" | "found";
type Step = readonly [name: Name, statement: Statement<unknown>];
/** The steps of one change. Only this file puts them in an order. */
export type Plan<Row = unknown> = readonly Step[] & { readonly [kind]: Row };

const present = (...steps: (readonly [Name, Statement<unknown> | undefined])[]) =>
  steps.filter((step): step is Step => step[1] !== undefined);

/** A change, and what follows from it. */
interface ChangeFirst<Row> {
  /** Returns the rows that it changes. If there are none, nothing follows. */
  change?: Statement<Row>;
  /** The entry of the key, with new rows. */
  kept?: Consequence;
  events: Events | undefined;
  companions?: readonly Consequence[] | undefined;
  /** The entry of the key, which is also stored when there was nothing to change. It returns a row if it is. So it is the last. */
  entry?: Statement<unknown> | undefined;
}
export const changeFirst = <Row>({ change, kept, events, companions = [], entry }: ChangeFirst<Row>) =>
  present(
    ["changed", change],
    ["followed", kept],
    ["followed", events],
    ...companions.map((companion): Step => ["followed", companion]),
    ["stored", entry],
  ) as readonly Step[] as Plan<Row>;

/** A change of rows that do not tell afterwards how they changed. So what follows comes before, made of the rows as they will be. */
interface ChangeLast<Row> {
  /** The entry of the key. It returns a row if it is stored. */
  entry?: Statement<unknown> | undefined;
  events: Statement<unknown>;
  change: Statement<Row>;
}
export const changeLast = <Row>({ entry, events, change }: ChangeLast<Row>) =>
  present(["stored", entry], ["followed", events], ["changed", change]) as readonly Step[] as Plan<Row>;

/** The outcome of a transaction. */
export interface Outcome<Row, Found> {
  /** What the changes returned: a row for each that they changed. */
  changed: Row[];
  /** Whether this attempt is the first one that stored the entry of the key. */
  stored: boolean;
  /** The entry of the key, from this attempt or an earlier one. */
  entry: Entry | undefined;
  /** What `select` read after the changes. */
  found: Found[];
}

/** A request for a change. */
export interface Call {
  c: Context<AppEnv>;
  session: Session;
  /** Undefined without an `Idempotency-Key`. */
  attempt: Attempt | undefined;
  /** Whether a second run changes nothing, though it may be refused. */
  isHarmless?: boolean;
}

/**
 * Runs changes in one transaction and one round trip. Under an `Idempotency-Key`, it can be repeated.
 *
 * @param plans of which one at most applies.
 * @param isRepeatable whether a second run changes nothing and is not refused, even after another change in between.
 * @throws ApiError `idempotency_key_reused` when the key came with another request.
 */
export async function run<Row, Found = never>(
  { session, attempt, isHarmless }: Omit<Call, "c">,
  plans: readonly Plan<Row>[],
  select?: Statement<Found>,
  isRepeatable = false,
): Promise<Outcome<Row, Found>> {
  const steps = [...plans.flat(), ...present(["entry", attempt && selectEntry(attempt)], ["found", select])];
  const statements = steps.map(([, statement]) => statement);
  const results: unknown[][] =
    attempt !== undefined || isRepeatable
      ? await session.writeRepeatably(statements)
      : await session.writeOnce(statements, isHarmless);
  const rows: { [name in Name]: unknown[] } = { changed: [], followed: [], stored: [], entry: [], found: [] };
  for (const [place, [name]] of steps.entries()) rows[name].push(...(results[place] ?? []));
  const [entry] = rows.entry as Entry[];
  if (entry !== undefined && attempt !== undefined) checkRequest(entry, attempt);
  return { changed: rows.changed as Row[], stored: rows.stored.length > 0, entry, found: rows.found as Found[] };
}

/** The response to a change that happens once under its key. */
export interface Responded<Body> {
  /** Of a new resource. */
  id?: Int64;
  /** Of a single resource. */
  version?: number;
  response: Json<Body>;
  /** Whether it is that of an earlier attempt. */
  replayed: boolean;
}

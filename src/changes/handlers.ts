// The handlers of changes. They read what a request says beside its body, and respond. What a change does comes from the operation.
import type { Context } from "hono";
import { routePath } from "hono/route";
import type * as z from "zod/mini";
import type { Stored } from "../db/resource.ts";
import type { Session } from "../db/session.ts";
import type { Statement } from "../db/statement.ts";
import type { AppEnv } from "../env.ts";
import type { ApiError } from "../errors.ts";
import type { Int64 } from "../exact/int64.ts";
import { jsonBody, MERGE_PATCH } from "../http/body.ts";
import { openSession } from "../http/open-session.ts";
import {
  isMet,
  type Preconditions,
  preconditionFailed,
  preconditionsOf,
  refusePreconditions,
  setEntityTag,
} from "../http/precondition.ts";
import { jsonText, noBody } from "../http/respond.ts";
import { type Attempt, idempotentAttempt, valuesOf } from "../idempotency/attempt.ts";
import { withFacts } from "../operation.ts";
import type { Creation } from "./creation.ts";
import { applyPatch, type Patch } from "./patch.ts";
import { type Target, versionsParameters } from "./version.ts";

/** The version of a new resource, and therefore of the first response to a creation. */
const FIRST_VERSION = 1;

/** A context with any path, as Hono's own handlers have it, and with the body of a validator. */
type WithBody<Schema extends z.ZodMiniType> = Context<
  AppEnv,
  // oxlint-disable-next-line typescript/no-explicit-any
  any,
  { in: { json: z.input<Schema> }; out: { json: z.output<Schema> } }
>;

/**
 * The handlers of a creation, which takes an `Idempotency-Key`. It responds with 201 and the address of the resource: the path of its
 * collection, followed by its id.
 *
 * @param schema of the body.
 * @param run creates it. Returns undefined when its condition does not hold.
 * @param refused the failure then.
 */
export function creates<Schema extends z.ZodMiniObject, Body>(
  operationId: string,
  schema: () => Schema,
  run: (
    session: Session,
    body: z.output<Schema>,
    attempt: Attempt | undefined,
    c: Context<AppEnv>,
  ) => Promise<Creation<Body> | undefined>,
  refused: () => Error = () => new Error("INSERT ... RETURNING returned no row"),
) {
  const handler = async (c: WithBody<Schema>) => {
    const body = c.req.valid("json");
    const attempt = await idempotentAttempt(c, operationId, ...valuesOf(schema(), body));
    const created = await run(openSession(c), body, attempt, c);
    if (created === undefined) throw refused();
    c.get("headers")["Location"] = `${routePath(c)}/${created.id}`;
    setEntityTag(c, FIRST_VERSION);
    return respondOnce(c, created, 201);
  };
  const facts = withFacts(handler, { operationId, idempotent: true, headers: ["ETag", "Idempotency-Replayed"] });
  return [jsonBody(schema), facts] as const;
}

/**
 * The handlers of a change of several resources, which takes an `Idempotency-Key`. It responds with all of them.
 *
 * @param status of the success: 201 for a creation, 200 for a patch, which refuses preconditions.
 * @param schema of the body.
 * @param item the schema of an item.
 * @param run changes them.
 */
export function changesAll<Item extends z.ZodMiniObject, Schema extends z.ZodMiniType<z.output<Item>[]>, Body>(
  operationId: string,
  status: 200 | 201,
  schema: () => Schema,
  item: () => Item,
  run: (
    session: Session,
    items: z.output<Schema>,
    attempt: Attempt | undefined,
  ) => Promise<Omit<Creation<Body[]>, "id">>,
) {
  const handler = async (c: WithBody<Schema>) => {
    const items = c.req.valid("json");
    if (status === 200) refusePreconditions(c, "send the version of each");
    const attempt = await idempotentAttempt(c, operationId, ...items.map((one) => valuesOf(item(), one)));
    return respondOnce(c, await run(openSession(c), items, attempt), status);
  };
  const facts = withFacts(handler, { operationId, idempotent: true, headers: ["Idempotency-Replayed"] });
  return [jsonBody(schema), facts] as const;
}

/** Responds to a change that happens once under its key. */
function respondOnce<Body, Status extends 200 | 201>(
  c: Context<AppEnv>,
  { response, replayed }: Omit<Creation<Body>, "id">,
  status: Status,
) {
  if (replayed) c.get("headers")["Idempotency-Replayed"] = "true";
  return jsonText(c, response, status);
}

/** What a patch does with the row that it names. */
interface Patched<Body, More, Values> {
  /** @throws ApiError when the path has no id. */
  id: (c: Context<AppEnv>) => Int64;
  patch: (target: Target, values: Values, attempt: Attempt | undefined, c: Context<AppEnv>) => Patch;
  /** Reads the row, after the patch. */
  select: (target: Target, values: Values, c: Context<AppEnv>) => Statement<Stored<Body> & More>;
  /** The failure when there is no such row. */
  missing: () => ApiError;
  /** The failure when the row does not allow the patch. */
  conflict: (row: Stored<Body> & More, values: Values, c: Context<AppEnv>) => ApiError | undefined;
  /** What follows from a patch that changed the row, beside the transaction. */
  follow?: (row: Stored<Body> & More, c: Context<AppEnv>) => Promise<void>;
  /** See `applyPatch`. */
  isRepeatable?: (preconditions: Preconditions, values: Values) => boolean;
}

/**
 * The handlers of a JSON merge patch (RFC 7396), which takes preconditions and an `Idempotency-Key`. It responds with 200 and the whole
 * resource, or with `missing`, `conflict` or `precondition_failed`, the first that applies.
 *
 * @param schema of the body.
 */
export function patches<Schema extends z.ZodMiniObject, Body, More>(
  operationId: string,
  schema: () => Schema,
  { id, patch, select, missing, conflict, follow, isRepeatable }: Patched<Body, More, z.output<Schema>>,
) {
  const handler = async (c: WithBody<Schema>) => {
    const values = c.req.valid("json");
    const preconditions = preconditionsOf(c);
    const request = [...Object.values(c.req.param()), preconditions, ...valuesOf(schema(), values)];
    const attempt = await idempotentAttempt(c, operationId, ...request);
    const session = openSession(c);
    const target = { id: id(c), ...versionsParameters(preconditions) };
    const statements = patch(target, values, attempt, c);
    const { entry, replayed, row, changed } = await applyPatch(
      session,
      statements,
      select(target, values, c),
      attempt,
      isRepeatable?.(preconditions, values),
    );
    if (row !== undefined && changed) await follow?.(row, c);
    if (entry !== undefined) {
      setEntityTag(c, entry.version);
      return respondOnce<Body, 200>(c, { response: entry.response, replayed }, 200);
    }
    if (row === undefined) throw missing();
    const refusal = conflict(row, values, c);
    if (refusal !== undefined) throw refusal;
    if (!changed && !isMet(preconditions, row.version)) throw preconditionFailed();
    setEntityTag(c, row.version);
    return jsonText<Body, 200>(c, row.body, 200);
  };
  const facts = withFacts(handler, {
    operationId,
    preconditions: true,
    idempotent: true,
    headers: ["ETag", "Idempotency-Replayed"],
  });
  return [jsonBody(schema, MERGE_PATCH), facts] as const;
}

/** The handler of a change without a body, which takes preconditions and responds with 204. */
export function removes(
  operationId: string,
  id: (c: Context<AppEnv>) => Int64,
  run: (session: Session, target: Target, preconditions: Preconditions, c: Context<AppEnv>) => Promise<void>,
) {
  const handler = async (c: Context<AppEnv>) => {
    const preconditions = preconditionsOf(c);
    const session = openSession(c);
    await run(session, { id: id(c), ...versionsParameters(preconditions) }, preconditions, c);
    return noBody(c, 204);
  };
  return withFacts(handler, { operationId, preconditions: true });
}

// The handlers of changes. They read what a request says beside its body, and respond. What a change does comes from the operation.
import type { Context } from "hono";
import { routePath } from "hono/route";
import type * as z from "zod/mini";
import { limitWork, refuseOverBudget, spendBudget } from "../auth/rate-limit.ts";
import { type Stored, withVersion } from "../db/resource.ts";
import type { AppEnv } from "../env.ts";
import type { Int64 } from "../exact/int64.ts";
import { apiKeyOf, ownerOf } from "../http/authentication.ts";
import { jsonBody, MERGE_PATCH } from "../http/body.ts";
import { openSession } from "../http/open-session.ts";
import { type Preconditions, preconditionsOf, refusePreconditions, setEntityTag } from "../http/precondition.ts";
import { jsonText, noBody } from "../http/respond.ts";
import { idempotentAttempt, valuesOf } from "../idempotency/attempt.ts";
import { type Facts, withFacts } from "../operation.ts";
import { type Patch, patchRow } from "./patch.ts";
import type { Call, Responded } from "./plan.ts";
import type { Result } from "./upsert.ts";
import { type Target, versionsParameters } from "./version.ts";

/** A context with any path, as Hono's own handlers have it, and with the body of a validator. */
type WithBody<Schema extends z.ZodMiniType> = Context<
  AppEnv,
  // oxlint-disable-next-line typescript/no-explicit-any
  any,
  { in: { json: z.input<Schema> }; out: { json: z.output<Schema> } }
>;

/** What a request for a change says beside its body. */
interface Begun<Body> {
  /** The parts of the request, for its fingerprint. */
  parts: () => unknown[];
  /** The number of resources. */
  count?: number;
  run: (call: Call) => Promise<Responded<Body>>;
}

/** The handlers of a change that happens once under an `Idempotency-Key`. A new resource is at the path of its collection and its id. */
function changes<Schema extends z.ZodMiniType, Body, Status extends 200 | 201>(
  validator: ReturnType<typeof jsonBody<Schema>>,
  status: Status,
  facts: Facts,
  begin: (c: WithBody<Schema>, body: z.output<Schema>) => Begun<Body>,
) {
  const handler = async (c: WithBody<Schema>) => {
    const { parts, count = 1, run } = begin(c, c.req.valid("json"));
    const attempt = await idempotentAttempt(c, facts.operationId, parts);
    const session = openSession(c);
    const owner = ownerOf(c);
    const { STORED_MIB } = c.env;
    // Also a retry: only the database tells that it is one.
    refuseOverBudget(owner, STORED_MIB);
    if (count > 1) await limitWork(c.env, apiKeyOf(c), owner, count);
    const { id, version, response, replayed } = await run({ c, session, attempt });
    if (!replayed) spendBudget(owner, STORED_MIB, response, count, attempt !== undefined);
    if (id !== undefined) c.get("headers")["Location"] = `${routePath(c)}/${id}`;
    if (version !== undefined) setEntityTag(c, version);
    if (replayed) c.get("headers")["Idempotency-Replayed"] = "true";
    return jsonText(c, response, status);
  };
  return [validator, withFacts(handler, { ...facts, idempotent: true, budgeted: true })] as const;
}

/**
 * The handlers of a creation. It responds with 201 and the address of the resource.
 *
 * @param completed what the request stands for, from its body. It is what an `Idempotency-Key` names.
 */
export const creates = <Schema extends z.ZodMiniObject, Body>(
  operationId: string,
  schema: () => Schema,
  run: (call: Call, body: z.output<Schema>) => Promise<Responded<Body>>,
  completed: (c: Context<AppEnv>, body: z.output<Schema>) => z.output<Schema> = (_c, body) => body,
) =>
  changes(jsonBody(schema), 201, { operationId, headers: ["ETag", "Idempotency-Replayed"] }, (c, given) => {
    const body = completed(c, given);
    return { parts: () => valuesOf(schema(), body), run: (call) => run(call, body) };
  });

/**
 * The handlers of a change of several resources. It responds with all of them.
 *
 * @param status of the success: 201 for a creation, 200 for a patch, which refuses preconditions.
 * @param schema of the body.
 * @param item the schema of an item.
 */
export const changesAll = <
  Item extends z.ZodMiniObject,
  Schema extends z.ZodMiniType<z.output<Item>[]>,
  Body,
  Status extends 200 | 201,
>(
  operationId: string,
  status: Status,
  schema: () => Schema,
  item: () => Item,
  run: (call: Call, items: z.output<Schema>) => Promise<Responded<Body[]>>,
) =>
  changes(jsonBody(schema), status, { operationId, headers: ["Idempotency-Replayed"] }, (c, items) => {
    if (status === 200) refusePreconditions(c, "send the version of each");
    const parts = () => items.map((one) => valuesOf(item(), one));
    return { parts, count: items.length, run: (call) => run(call, items) };
  });

/**
 * The handlers of a JSON merge patch (RFC 7396), which takes preconditions. It responds with 200 and the whole resource.
 *
 * @param id of the resource. It throws an ApiError when the path has none.
 */
export function patches<Schema extends z.ZodMiniObject, Body, Columns>(
  operationId: string,
  schema: () => Schema,
  id: (c: Context<AppEnv>) => Int64,
  patch: Patch<Body, z.output<Schema>, Columns>,
) {
  const facts = { operationId, preconditions: true, headers: ["ETag", "Idempotency-Replayed"] } as const;
  return changes<Schema, Body, 200>(jsonBody(schema, MERGE_PATCH), 200, facts, (c, values) => {
    const preconditions = preconditionsOf(c);
    return {
      parts: () => [...Object.values(c.req.param()), preconditions, ...valuesOf(schema(), values)],
      run: (call) => patchRow(call, patch, { id: id(c), ...versionsParameters(preconditions) }, values, preconditions),
    };
  });
}

/**
 * The handlers of an upsert of several resources. It responds with all of them. A second run leaves the same state, so it takes no
 * `Idempotency-Key`.
 */
export function upserts<Schema extends z.ZodMiniType<object[]>, Body>(
  operationId: string,
  schema: () => Schema,
  run: (call: Call, items: z.output<Schema>) => Promise<{ row: Stored<Body>; result: Result }[]>,
) {
  const handler = async (c: WithBody<Schema>) => {
    const items = c.req.valid("json");
    refusePreconditions(c, "an import takes the state of its source");
    const session = openSession(c);
    const owner = ownerOf(c);
    const { STORED_MIB } = c.env;
    refuseOverBudget(owner, STORED_MIB);
    await limitWork(c.env, apiKeyOf(c), owner, items.length);
    const done = await run({ c, session, attempt: undefined, isHarmless: true }, items);
    const changed = done.filter(({ result }) => result !== "unchanged");
    if (changed.length > 0)
      spendBudget(owner, STORED_MIB, changed.map(({ row }) => row.body).join(), changed.length, false);
    const bodies = done.map(({ row, result }) => `${withVersion(row).slice(0, -1)},"result":"${result}"}`);
    return jsonText<(Body & { version: number; result: Result })[], 200>(c, `[${bodies.join()}]`, 200);
  };
  return [jsonBody(schema), withFacts(handler, { operationId, budgeted: true })] as const;
}

/** The handler of a change without a body, which takes preconditions and responds with 204. */
export function removes(
  operationId: string,
  id: (c: Context<AppEnv>) => Int64,
  run: (call: Call, target: Target, preconditions: Preconditions) => Promise<void>,
) {
  const handler = async (c: Context<AppEnv>) => {
    const preconditions = preconditionsOf(c);
    // What is gone stays gone.
    const call = { c, session: openSession(c), attempt: undefined, isHarmless: true };
    const target = { id: id(c), ...versionsParameters(preconditions) };
    const owner = ownerOf(c);
    refuseOverBudget(owner, c.env.STORED_MIB);
    await run(call, target, preconditions);
    spendBudget(owner, c.env.STORED_MIB, "", 1, false);
    return noBody(c, 204);
  };
  return withFacts(handler, { operationId, preconditions: true, budgeted: true });
}

import type { Context } from "hono";
import * as z from "zod/mini";
import { hasScope, type Scope } from "../auth/scopes.ts";
import type { ApiKey, AppEnv } from "../env.ts";
import { apiKeyOf } from "../http/authentication.ts";
import { lacksScope } from "../http/guard.ts";
import { listParameter, parameterRule, parsed } from "../http/validation.ts";
import { decodeEventCursor, type Place } from "./place.ts";
import { EVENT_TYPES, type EventType, resourceOf, scopeOf } from "./table.ts";

export const LATEST = "latest";
/** Maximum number of types in a request. */
export const MAX_TYPES = 100;

/** The parameters of an operation that follows the feed. */
export const feedParameters = () => ({
  cursor: z.optional(
    parsed<string, Place | typeof LATEST>(
      toPlace,
      parameterRule("latest, or one that this service handed out for events"),
    ),
  ),
  type: listParameter(toTypes, `1 to ${MAX_TYPES} of ${EVENT_TYPES.join(", ")}`),
});

function toPlace(value: unknown): Place | typeof LATEST | undefined {
  if (value === LATEST) return LATEST;
  return typeof value === "string" ? decodeEventCursor(value) : undefined;
}

function toTypes(value: unknown): EventType[] | undefined {
  const types = [value].flat();
  if (types.length > MAX_TYPES) return undefined;
  const areKnown = types.every((type): type is EventType => EVENT_TYPES.some((known) => known === type));
  return areKnown ? [...new Set(types)] : undefined;
}

/**
 * The resources of the events. A request that names no type gets all events of those that its key may read, also of a type that only a
 * later version knows: before a release is complete, and after a rollback, this version passes on what the later one wrote.
 */
export const RESOURCES = [...new Set(EVENT_TYPES.map(resourceOf))];

/** The scope that a key, or a customer token, needs for the data of an event. */
export const scopeFor = ({ token }: ApiKey, type: string): Scope =>
  token !== undefined && scopeOf(type) === "store:read" ? "orders:own" : scopeOf(type);

/**
 * The types, or the resources, that the request wants and that its key may read.
 *
 * @throws ApiError `insufficient_scope` when the key may read none, or not one that the request names.
 */
export function typesFor(c: Context<AppEnv>, named: readonly EventType[] | undefined): readonly string[] {
  const key = apiKeyOf(c);
  const mayRead = (type: string) => hasScope(key.scopes, scopeFor(key, type));
  const wanted: readonly string[] = named ?? RESOURCES;
  const refused = wanted.find((type) => !mayRead(type));
  if (refused === undefined) return wanted;
  const readable = wanted.filter(mayRead);
  if (named !== undefined || readable.length === 0) throw lacksScope(c, scopeFor(key, refused));
  return readable;
}

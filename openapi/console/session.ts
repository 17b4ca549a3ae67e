// Who is signed in, and the attempts of changes that have no answer yet. Both are kept for this tab alone.
import { type CreateOptions, type Key, PetStore, PetStoreError, type PetStoreOptions } from "../../client/src/index.ts";
import { hasScope, type Scope } from "../../src/auth/scopes.ts";

export const API_KEY = "petstore-console-key";
/** What the service refuses before it looks at the request. An attempt before may have made the change. */
const UNANSWERED = new Set([401, 403, 408, 429]);
const USES = [
  ["store:read", "see orders and numbers"],
  ["pets:read", "see animals"],
  ["pets:write", "add and change animals"],
  ["orders:place", "sell"],
  ["orders:manage", "ship and cancel orders"],
  ["events:read", "see what happened"],
  ["webhooks:manage", "look after webhooks"],
] as const;

export let key: Key | undefined;
/** Of the key. Each request sees what the ones before it wrote. */
export let store: ReturnType<PetStore["session"]>;
export const may = (scope: Scope): boolean => key !== undefined && hasScope(key.scopes, scope);

/** Names the scopes that the key lacks. Empty without one. */
export function lacks(): string {
  const missing = USES.filter(([scope]) => !may(scope)).map(([scope, use]) => `${use} (${scope})`);
  return missing.length ? `This key may not ${missing.join(", ")}. Whoever gave it to you can give another.` : "";
}

/** @throws PetStoreError when the service does not accept the key, or TypeError for a text that is none. */
export async function signIn(apiKey: string, onAttempt: PetStoreOptions["onAttempt"]): Promise<void> {
  const session = new PetStore({ baseUrl: `${location.origin}/v1`, apiKey, onAttempt }).session();
  const found = await session.key();
  if (found.customer !== undefined) throw new TypeError("This is the token of a customer. Enter an API key.");
  sessionStorage.setItem(API_KEY, apiKey);
  [key, store] = [found, session];
}

export type Attempt = Required<Pick<CreateOptions, "idempotencyKey" | "firstUsed">>;
export type Once = <Result>(run: (attempt: Attempt) => Promise<Result>) => Promise<Result>;

/** Makes a change once, by the name of all that it sends: until an answer, each try has the same key, also after a reload. */
export async function once<Result>(change: string, run: (attempt: Attempt) => Promise<Result>): Promise<Result> {
  const fresh = { by: key?.id, idempotencyKey: crypto.randomUUID(), firstUsed: new Date() };
  const kept = sessionStorage.getItem(change) ?? JSON.stringify(fresh);
  const { by, idempotencyKey, firstUsed } = JSON.parse(kept);
  try {
    // The service keeps the attempts of each key apart.
    if (by !== key?.id) throw new Error("This was tried with another key. Look whether it was done.");
    sessionStorage.setItem(change, kept);
    const result = await run({ idempotencyKey, firstUsed: new Date(firstUsed) });
    sessionStorage.removeItem(change);
    return result;
  } catch (error) {
    if (!isUnanswered(error)) sessionStorage.removeItem(change);
    throw error;
  }
}

/** Whether the service may have made the change that failed. */
export function isUnanswered(error: unknown): boolean {
  if (!(error instanceof PetStoreError) || error.code === "idempotency_key_expired") return false;
  return error.status === undefined || error.status < 300 || error.status >= 500 || UNANSWERED.has(error.status);
}

// Who is signed in, and the attempts of changes that have no answer yet. Both are kept for this tab alone.
import { type Key, PetStore, PetStoreError } from "../../client/src/index.ts";
import { hasScope, type Scope } from "../../src/auth/scopes.ts";

const API_KEY = "petstore-console-key";
const ATTEMPTS = "petstore-console-attempts";

/** What the service refuses before it looks at the request. An attempt before may have made the change. */
const UNANSWERED = new Set([401, 403, 408, 429]);

interface Signed {
  key: Key;
  /** Each request sees what the ones before it wrote. */
  store: ReturnType<PetStore["session"]>;
}

interface Attempt {
  idempotencyKey: string;
  /** In milliseconds since the epoch. */
  firstUsed: number;
  /** The id of the API key: the service keeps the attempts of each apart. */
  by: string;
}

let signed: Signed | undefined;

/** @throws Error when nobody is signed in. */
export function current(): Signed {
  if (signed === undefined) throw new Error("Nobody is signed in.");
  return signed;
}

export const may = (scope: Scope): boolean => signed !== undefined && hasScope(signed.key.scopes, scope);

/** The API key of this tab, if somebody signed in before the page was loaded. */
export const rememberedKey = (): string | null => sessionStorage.getItem(API_KEY);

/**
 * Signs in with a key that the service accepts.
 *
 * @param onAttempt is told after each attempt of a request whether another one follows.
 * @throws PetStoreError, or TypeError for a text that is no key.
 */
export async function signIn(apiKey: string, onAttempt: (isRetrying: boolean) => void): Promise<Signed> {
  const store = new PetStore({
    baseUrl: `${location.origin}/v1`,
    apiKey,
    onAttempt: ({ retryIn }) => onAttempt(retryIn !== undefined),
  }).session();
  const key = await store.key();
  if (key.customer !== undefined) throw new TypeError("This is the token of a customer. The console needs an API key.");
  sessionStorage.setItem(API_KEY, apiKey);
  signed = { key, store };
  return signed;
}

/** Forgets the key, and with it all that the page shows. */
export function signOut(): void {
  sessionStorage.clear();
  location.reload();
}

/** Forgets a key that the service does not accept any more. Attempts without an answer stay. */
export const forgetKey = (): void => sessionStorage.removeItem(API_KEY);

/**
 * Makes a change once: until it is answered, each further try of the same change has the same `Idempotency-Key`, also after a reload.
 *
 * @param change names the change with everything that it sends.
 */
export async function once<Result>(
  change: string,
  run: (options: { idempotencyKey: string; firstUsed: Date }) => Promise<Result>,
): Promise<Result> {
  const by = current().key.id;
  const attempt = attempts()[change] ?? { idempotencyKey: crypto.randomUUID(), firstUsed: Date.now(), by };
  if (attempt.by !== by) {
    keep(change, undefined);
    throw new Error(
      "This change was tried with another key, and never answered. See whether it was made, and try again if not.",
    );
  }
  keep(change, attempt);
  try {
    const result = await run({ idempotencyKey: attempt.idempotencyKey, firstUsed: new Date(attempt.firstUsed) });
    keep(change, undefined);
    return result;
  } catch (error) {
    if (!isUnanswered(error)) keep(change, undefined);
    throw error;
  }
}

/** Whether the service may have made the change that failed. */
export function isUnanswered(error: unknown): boolean {
  if (!(error instanceof PetStoreError) || error.code === "idempotency_key_expired") return false;
  return error.status === undefined || error.status < 300 || error.status >= 500 || UNANSWERED.has(error.status);
}

const attempts = (): Record<string, Attempt> => JSON.parse(sessionStorage.getItem(ATTEMPTS) ?? "{}");

function keep(change: string, attempt: Attempt | undefined): void {
  sessionStorage.setItem(ATTEMPTS, JSON.stringify({ ...attempts(), [change]: attempt }));
}

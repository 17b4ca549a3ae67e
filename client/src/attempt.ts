import { PetStoreError } from "./error.ts";

export type Fetch = (url: string, init: RequestInit) => Promise<Response>;

/** The longest time that timers take, about 24 days (Node.js documentation, Timers). */
const LONGEST_TIMER = 2 ** 31 - 1;

/**
 * The largest response that the client reads. The largest page of the service is one of 100 categories, or of events about them. It has
 * 2.7 million bytes when each of its 100 times 2,255 characters is two escapes of 6 bytes. The rest is for fields to come.
 */
export const MAX_BYTES = 4 * 2 ** 20;

/**
 * Runs something until it ends or its time is over. Resolves to undefined when the time is over.
 *
 * @param run gets a signal that ends it. The client does not wait for it then.
 * @throws the reason of the caller's signal, as soon as that aborts.
 */
export async function limit<Result>(
  run: (signal: AbortSignal) => Promise<Result>,
  milliseconds: number,
  signal: AbortSignal | undefined,
): Promise<Result | undefined> {
  signal?.throwIfAborted();
  // Not AbortSignal.any(): a signal of the caller that lives long keeps a part of each that has a listener (Node.js 20.20.2 and 24.21.0).
  const controller = new AbortController();
  let end = (): void => {};
  const ended = new Promise<undefined>((resolve) => {
    end = () => {
      resolve(undefined);
      controller.abort();
    };
  });
  const timer = milliseconds < Infinity && setTimeout(end, Math.min(milliseconds, LONGEST_TIMER));
  signal?.addEventListener("abort", end);
  try {
    const result = await Promise.race([ended, run(controller.signal)]);
    if (result === undefined) signal?.throwIfAborted();
    return result;
  } finally {
    if (timer) clearTimeout(timer);
    signal?.removeEventListener("abort", end);
  }
}

/**
 * Sends a request, and reads its response. The text is undefined when it is too large.
 *
 * @param own the caller's way to send requests.
 * @throws PetStoreError `network`, or what the caller's `fetch` throws when that is no failure of the network.
 */
export async function exchange(
  own: Fetch | undefined,
  url: string,
  init: RequestInit,
): Promise<{ response: Response; text: string | undefined }> {
  // The client keeps nothing but the code: a message, a stack or a cause may show the headers, and with them the API key.
  const fail = (thrown: unknown): never => {
    const code = codeOf(thrown) ?? "";
    const shown = /^[A-Z_]{1,40}$/.test(code) && !JSON.stringify(init.headers).includes(code) ? `: ${code}` : "";
    throw new PetStoreError("network", `The connection to the service failed${shown}.`);
  };
  let response;
  try {
    response = await (own ?? globalThis.fetch)(url, init);
  } catch (thrown) {
    if (own && !isNetworkFailure(thrown)) throw thrown;
    return fail(thrown);
  }
  // Not for await, which browsers learned late (MDN, ReadableStream).
  const reader = response.body?.getReader();
  const decoder = new TextDecoder();
  let [text, bytes] = ["", 0];
  while (bytes <= MAX_BYTES) {
    const { done, value } = (await reader?.read().catch(fail)) ?? { done: true };
    if (done) return { response, text: text + decoder.decode() };
    text += decoder.decode(value, { stream: true });
    bytes += value.byteLength;
  }
  reader?.cancel().catch(() => {});
  return { response, text: undefined };
}

/**
 * Whether an error comes from the connection: a TypeError (the fetch standard), an error with a code (Node.js and its libraries), or a
 * remote one (Workers). Any other error comes from the caller's own code.
 */
function isNetworkFailure(thrown: unknown): boolean {
  const { name, remote } = Object(thrown);
  return name === "TypeError" || remote === true || codeOf(thrown) !== undefined;
}

/** The code of an error, for example `ECONNREFUSED`. */
function codeOf(thrown: unknown): string | undefined {
  try {
    const error = thrown as { code?: unknown; cause?: { code?: unknown } };
    const code = error.cause?.code ?? error.code;
    return typeof code === "string" ? code : undefined;
  } catch {
    return undefined;
  }
}

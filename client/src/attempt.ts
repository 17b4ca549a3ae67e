import { PetStoreError } from "./error.ts";

export type Fetch = (url: string, init: RequestInit) => Promise<Response>;

/** The longest time that timers take, about 24 days. */
const LONGEST_TIMER = 2 ** 31 - 1;

/**
 * Sends a request once.
 *
 * @param timeout milliseconds until the whole response has to be there.
 * @param signal of the caller.
 * @throws PetStoreError `network` or `timeout`, the reason of the caller's signal when that aborts.
 */
export async function attempt(
  fetch: Fetch,
  url: string,
  init: RequestInit,
  timeout: number,
  signal: AbortSignal | undefined,
): Promise<{ response: Response; text: string }> {
  signal?.throwIfAborted();
  // Not AbortSignal.any(): in Node 20, a signal of the caller that lives long would keep every one made from it.
  const controller = new AbortController();
  const abort = (): void => controller.abort();
  const timer = setTimeout(abort, Math.min(timeout, LONGEST_TIMER));
  signal?.addEventListener("abort", abort);
  try {
    // A redirect would take the API key elsewhere, and the service has none.
    const response = await fetch(url, { ...init, redirect: "manual", signal: controller.signal });
    return { response, text: await response.text() };
  } catch (cause) {
    signal?.throwIfAborted();
    throw controller.signal.aborted
      ? new PetStoreError("timeout", `The response was not complete within ${Math.round(timeout)} ms.`)
      : new PetStoreError("network", "The connection to the service failed.", { cause });
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener("abort", abort);
  }
}

import { PetStoreError } from "./error.ts";

export type Fetch = (url: string, init: RequestInit) => Promise<Response>;

/** The longest time that timers take, about 24 days. */
export const LONGEST_TIMER = 2 ** 31 - 1;

/**
 * The largest response that the client reads. The largest page of the service is one of 100 categories. It has 2.7 million bytes when
 * each of its 100 times 2,255 characters is two escapes of 6 bytes. The rest is for fields to come.
 */
export const MAX_BYTES = 4 * 2 ** 20;

/**
 * Sends a request once. The text is undefined when it is too large.
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
): Promise<{ response: Response; text: string | undefined }> {
  signal?.throwIfAborted();
  // Not AbortSignal.any(): in Node 20, a signal of the caller that lives long would keep every one made from it.
  const controller = new AbortController();
  const abort = (): void => controller.abort();
  const timer = setTimeout(abort, Math.min(timeout, LONGEST_TIMER));
  signal?.addEventListener("abort", abort);
  try {
    // A redirect would take the API key elsewhere, and the service has none.
    const response = await fetch(url, { ...init, redirect: "manual", signal: controller.signal });
    return { response, text: await readText(response) };
  } catch (thrown) {
    signal?.throwIfAborted();
    throw controller.signal.aborted
      ? new PetStoreError("timeout", `The response was not complete within ${Math.round(timeout)} ms.`)
      : new PetStoreError("network", `The connection to the service failed${codeOf(thrown, init)}.`);
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener("abort", abort);
  }
}

async function readText({ body }: Response): Promise<string | undefined> {
  // Not for await: Safari cannot iterate over a stream.
  const reader = body?.getReader();
  const decoder = new TextDecoder();
  let [text, bytes] = ["", 0];
  while (bytes <= MAX_BYTES) {
    const { done, value } = (await reader?.read()) ?? { done: true };
    if (done) return text + decoder.decode();
    text += decoder.decode(value, { stream: true });
    bytes += value.byteLength;
  }
  reader?.cancel().catch(() => {});
  return undefined;
}

/**
 * The code of an error, for example `ECONNREFUSED`. The client keeps nothing else of it: its message, its stack or its cause may show
 * the headers of the request, and with them the API key.
 */
function codeOf(thrown: unknown, { headers }: RequestInit): string {
  try {
    const error = thrown as { code?: unknown; cause?: { code?: unknown } };
    const code = error.cause?.code ?? error.code;
    return typeof code === "string" && /^[A-Z_]{1,40}$/.test(code) && !JSON.stringify(headers).includes(code)
      ? `: ${code}`
      : "";
  } catch {
    return "";
  }
}

import type { RequestListener } from "node:http";
import { afterEach, beforeEach, vi } from "vitest";
import { PetStore, type PetStoreOptions } from "../../../client/src/index.ts";
import { serve } from "../serve.ts";

export interface Sent {
  method: string;
  /** Path and query, without the base. */
  path: string;
  headers: Record<string, string>;
  body: string | undefined;
  signal: AbortSignal;
}

export type Reply = (sent: Sent) => Response | Promise<Response>;

export const BASE_URL = "https://petstore.test/v1";
export const BOOKMARKS = ["1", "2", "3"].map((digit) => `0000000${digit}-00000000-00000000-${"0".repeat(32)}`);
export const ANIMAL = '{"id":9223372036854775807,"name":"Rex","categoryId":-9223372036854775808,"status":"available"}';
export const CATEGORY = '{"id":1,"name":"Dogs"}';
export const ORDER =
  '{"id":1,"petId":2,"quantity":1,"status":"placed","createdAt":"2026-11-22T09:30:00.000Z","shipDate":null,"complete":false}';

export const json =
  (status: number, body: string, headers: Record<string, string> = {}): Reply =>
  () =>
    new Response(status === 204 ? null : body, { status, headers: { "Content-Type": "application/json", ...headers } });

export const failure = (status: number, code: string, headers: Record<string, string> = {}): Reply =>
  json(status, JSON.stringify({ code, message: "Because.", status }), { "X-Request-Id": "request-1", ...headers });

export const html = (status: number, headers: Record<string, string> = {}): Reply =>
  json(status, "<h1>Bad Gateway</h1>", { "Content-Type": "text/html", ...headers });

/** The connection breaks. */
export const broken: Reply = () => Promise.reject(new TypeError("fetch failed"));

/** The response never arrives. */
export const silent: Reply = ({ signal }) =>
  new Promise((_resolve, reject) => {
    signal.addEventListener("abort", () => reject(signal.reason));
  });

/** Requests of a test. A client that does not stop sends more. */
const MOST = 500;

/** A client of a service that gives these replies and repeats the last one. Pauses are short. */
export function fakeService(replies: Reply[], options: Partial<PetStoreOptions> = {}) {
  const sent: Sent[] = [];
  const store = new PetStore({
    baseUrl: BASE_URL,
    apiKey: "key",
    retry: { firstPause: 1 },
    fetch: async (url, { method = "", headers, body, signal }) => {
      const request = {
        method,
        path: url.slice(BASE_URL.length),
        headers: Object.fromEntries(new Headers(headers)),
        body: body as string | undefined,
        signal: signal as AbortSignal,
      };
      sent.push(request);
      const reply = replies[Math.min(sent.length, replies.length) - 1];
      if (reply === undefined || sent.length > MOST) throw new Error("The fake service has no reply.");
      return reply(request);
    },
    ...options,
  });
  return { store, sent };
}

/** Starts a server until the test ends. Returns the address of its API. */
export const serveApi = async (listener: RequestListener) => `${await serve(listener)}/v1`;

export function stopTime(): void {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => {
    vi.restoreAllMocks();
    vi.useRealTimers();
  });
}

export async function errorOf(promise: Promise<unknown>): Promise<unknown> {
  return promise.then(
    () => {
      throw new Error("The promise did not reject.");
    },
    (error: unknown) => error,
  );
}

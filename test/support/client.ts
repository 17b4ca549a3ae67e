import { createExecutionContext, waitOnExecutionContext } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { expect } from "vitest";
import { createApp } from "../../src/app.ts";
import { expectDocumented } from "./contract.ts";
import { key } from "./keys.ts";
import type { AppEnv } from "../../src/env.ts";
import { type ErrorBody, type ErrorCode, ERRORS } from "../../src/errors.ts";

/** A random UUID (RFC 9562). */
export const REQUEST_ID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

const HOST = "pets.example";
export const ORIGIN = `https://${HOST}`;

const app = createApp();

export interface Call {
  method?: string;
  /** Sent as a bearer token. */
  key?: string;
  headers?: Record<string, string>;
  /** An object is sent as JSON. A string, bytes or a stream is sent unchanged, with the media type of JSON. */
  body?: object | BodyInit;
  /** The origin of the request according to Cloudflare. */
  cf?: CfProperties;
  host?: string;
  /** Bindings that replace the real ones. */
  bindings?: Partial<AppEnv["Bindings"]>;
}

/** Sends a request to the app in the isolate of the test, so that spies and fake clocks of the test apply to it. */
export async function call(
  path: string,
  { method = "GET", key, headers = {}, body, cf, host = HOST, bindings }: Call = {},
): Promise<Response> {
  const request = new Request(`https://${host}${path}`, {
    method,
    headers: {
      ...(key === undefined ? {} : { Authorization: `Bearer ${key}` }),
      ...(body === undefined ? {} : { "Content-Type": "application/json" }),
      ...headers,
    },
    ...(cf === undefined ? {} : { cf }),
    ...(body === undefined ? {} : { body: isRaw(body) ? body : JSON.stringify(body) }),
  });
  const context = createExecutionContext();
  const response = await app.fetch(request, { ...env, ...bindings }, context);
  await waitOnExecutionContext(context);
  await expectDocumented(method, request.url, response);
  return response;
}

function isRaw(body: object | BodyInit): body is BodyInit {
  return typeof body === "string" || body instanceof Uint8Array || body instanceof ReadableStream;
}

/** Asserts all of a failure: status, media type, request id, and exactly the three fields. Returns the message. */
export async function expectError(response: Response, code: ErrorCode): Promise<string> {
  const body = await response.json<ErrorBody>();
  expect(body).toEqual({ code, message: expect.stringMatching(/\S/), status: ERRORS[code].status });
  expect(response.status).toBe(ERRORS[code].status);
  expect(response.headers.get("Content-Type")).toBe("application/json");
  expect(response.headers.get("X-Request-Id")).toMatch(REQUEST_ID);
  return body.message;
}

export async function expectJson(response: Response, status: number): Promise<unknown> {
  expect(response.status).toBe(status);
  expect(response.headers.get("Content-Type")).toBe("application/json");
  expect(response.headers.get("X-Request-Id")).toMatch(REQUEST_ID);
  return response.json();
}

/** The path of the next page of a list, from its link. */
export function nextPage(response: Response): string | undefined {
  const link = response.headers.get("Link");
  if (link === null) return undefined;
  const [, path] = /^<https:\/\/pets\.example([^>]+)>; rel="next"$/.exec(link) ?? [];
  return path ?? expect.unreachable(`the Link header is ${link}`);
}

/** Creates a resource with the key of the file of tests. Returns its path. */
export async function create(path: string, body: object | string): Promise<string> {
  const response = await call(path, { method: "POST", key, body });
  expect(response.status).toBe(201);
  return response.headers.get("Location") ?? "";
}

/** The id in the path of a resource. */
export const idOf = (path: string): number => Number(path.split("/").at(-1));

// Commands for the service and the model: each is a request with the response that the model gives to it.
import type fc from "fast-check";
import { expect } from "vitest";
import { call, ORIGIN } from "../support/client.ts";
import { LASTING_ERRORS } from "../support/d1-errors.ts";
import { type Fault, faultyDatabase } from "../support/faulty-d1.ts";
import { type Answer, failure, type Model, type Preconditions, TIMELESS } from "./model.ts";

/** The API keys of the clients. */
export type Service = readonly string[];

/** One request, with the faults of D1 during it. */
interface Request {
  method: string;
  path: string;
  client?: number;
  /** Undefined without a body. */
  body?: string | undefined;
  headers?: Record<string, string>;
}

/** Retries of a repeatable change by the service, after transient faults. */
const MAX_ATTEMPTS = 3;

export class Change implements fc.AsyncCommand<Model, Service> {
  readonly #request: (model: Model) => Request;
  readonly #answer: (model: Model, request: Request) => Answer;
  readonly #isRepeatable: boolean;
  readonly #faults: Fault[];
  readonly #text: string;

  /**
   * @param request builds the request from the state of the model before it.
   * @param answer the response of the model, each time that the request reaches the database.
   * @param isRepeatable whether the service repeats the request after a transient fault.
   */
  constructor(
    text: string,
    request: (model: Model) => Request,
    answer: (model: Model, request: Request) => Answer,
    isRepeatable: boolean,
    faults: Fault[],
  ) {
    this.#request = request;
    this.#answer = answer;
    this.#isRepeatable = isRepeatable;
    this.#faults = faults;
    this.#text = text;
  }

  check = () => true;

  async run(model: Model, service: Service): Promise<void> {
    const request = this.#request(model);
    const { method, path, client = 0, body, headers = {} } = request;
    const response = await call(path, {
      method,
      key: service[client] ?? "",
      headers,
      ...(body === undefined ? {} : { body }),
      bindings: { DB: faultyDatabase(...this.#faults).DB },
    });
    expect(await read(response)).toEqual(this.#expected(model, request));
  }

  /** The response after the faults. */
  #expected(model: Model, request: Request): Answer {
    const attempts = this.#isRepeatable ? MAX_ATTEMPTS : 1;
    for (const fault of Array.from({ length: attempts }, (_, attempt) => this.#faults[attempt])) {
      const answer = fault?.when === "before" ? undefined : this.#answer(model, request);
      if (fault === undefined && answer !== undefined) return answer;
      if (fault !== undefined && LASTING_ERRORS.includes(fault.message)) break;
    }
    return failure(503, "service_unavailable");
  }

  toString = () => `${this.#text} ${JSON.stringify(this.#faults)}`;
}

/** Reads every page of a list. */
export class List implements fc.AsyncCommand<Model, Service> {
  readonly #path: string;
  readonly #query: [name: string, value: string][];
  readonly #size: number;
  readonly #items: (model: Model) => string[];

  constructor(path: string, query: [name: string, value: string][], size: number, items: (model: Model) => string[]) {
    this.#path = path;
    this.#query = query;
    this.#size = size;
    this.#items = items;
  }

  check = () => true;

  async run(model: Model, [key = ""]: Service): Promise<void> {
    const items = this.#items(model);
    const query = new URLSearchParams([...this.#query, ["limit", String(this.#size)]]);
    let path: string | undefined = `${this.#path}?${query.toString()}`;
    for (let start = 0; path !== undefined; start += this.#size) {
      const response: Response = await call(path, { key });
      expect(withoutTimes(await response.text())).toBe(`[${items.slice(start, start + this.#size).join()}]`);
      path = /<(.+)>; rel="next"/.exec(response.headers.get("Link") ?? "")?.[1]?.replace(ORIGIN, "");
      expect(path !== undefined).toBe(items.length > start + this.#size);
    }
  }

  toString = () => `list ${this.#path} ${JSON.stringify(this.#query)} by ${this.#size}`;
}

const EVENT = /"type":"([^"]+)","timestamp":"[^"]+","version":(\d+),"data":(\{.*?\})\}(?=,\{"id":"evt_|\],"cursor")/gs;

/** The events after the cursor, as the model has them. */
export async function feedSince([key = ""]: Service, start: string): Promise<string[]> {
  const found: string[] = [];
  for (let [cursor, more] = [start, true]; more;) {
    const text = await (await call(`/v1/events?cursor=${cursor}`, { key })).text();
    for (const [, type, version, data = ""] of text.matchAll(EVENT)) {
      found.push(`${type} ${version} ${withoutTimes(data)}`);
    }
    ({ cursor, more } = JSON.parse(text));
  }
  return found;
}

function withoutTimes(body: string): string {
  return body.replaceAll(/"createdAt":"[^"]+"/g, `"createdAt":"${TIMELESS}"`);
}

async function read(response: Response): Promise<Answer> {
  const { status, headers } = response;
  const [etag, location] = [headers.get("ETag"), headers.get("Location")];
  return {
    status,
    body: status < 400 ? withoutTimes(await response.text()) : (await response.json<{ code: string }>()).code,
    ...(etag !== null && { etag }),
    ...(location !== null && { location }),
    ...(headers.has("Idempotency-Replayed") && { replayed: true }),
  };
}

export function preconditionHeaders({ ifMatch, ifNoneMatch }: Preconditions): Record<string, string> {
  return {
    ...(ifMatch !== undefined && { "If-Match": writeTags(ifMatch) }),
    ...(ifNoneMatch !== undefined && { "If-None-Match": writeTags(ifNoneMatch) }),
  };
}

function writeTags(versions: number[] | "*"): string {
  return versions === "*" ? "*" : versions.map((version) => `W/"${version}"`).join(", ");
}

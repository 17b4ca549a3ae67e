import { setTimeout as wait } from "node:timers/promises";
import type { ErrorBody } from "../../../src/errors.ts";

/** Milliseconds after which a response counts as lost. */
const PATIENCE = 30_000;
/** Milliseconds before a request is repeated after a 503. */
const PAUSE = 100;

/** The current address of the service. Waits while the service restarts. */
export type Address = () => Promise<URL>;

export interface Request {
  method: "GET" | "POST" | "PATCH" | "DELETE";
  path: string;
  body?: object;
  headers?: Record<string, string>;
}

export interface Reply {
  status: number;
  /** The code of an error, or else the status: `204`, `pet_on_order`. */
  outcome: string;
  /** The version in the entity tag. */
  version: number | undefined;
  isReplayed: boolean;
  /** The address of the next page. */
  next: string | undefined;
  body: unknown;
}

/** Sends requests with one API key. */
export class Client {
  readonly #address: Address;
  readonly #key: string;

  constructor(address: Address, key: string) {
    this.#address = address;
    this.#key = key;
  }

  /** Returns undefined when the response is lost. It is then unknown whether the request took effect. */
  async send({ method, path, body, headers }: Request): Promise<Reply | undefined> {
    const url = new URL(path, await this.#address());
    let response: Response;
    let text: string;
    try {
      response = await fetch(url, {
        method,
        headers: { Authorization: `Bearer ${this.#key}`, "Content-Type": "application/json", ...headers },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
        signal: AbortSignal.timeout(PATIENCE),
      });
      text = await response.text();
    } catch {
      return undefined;
    }
    if (response.status === 503) {
      await wait(PAUSE);
      return undefined;
    }
    const content: unknown = text.startsWith("{") || text.startsWith("[") ? JSON.parse(text) : undefined;
    const [, version] = /^"(\d+)"$/.exec(response.headers.get("ETag") ?? "") ?? [];
    return {
      status: response.status,
      outcome: response.ok ? `${response.status}` : ((content as Partial<ErrorBody>)?.code ?? `${response.status}`),
      version: version === undefined ? undefined : Number(version),
      isReplayed: response.headers.get("Idempotency-Replayed") === "true",
      next: /<(.+)>; rel="next"/.exec(response.headers.get("Link") ?? "")?.[1],
      body: content,
    };
  }
}

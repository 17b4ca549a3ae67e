import type { ErrorBody } from "../../src/errors.ts";
import { expectDocumented } from "../support/contract.ts";
import { grantProductionKey } from "../../scripts/production-service.ts";
import type { BuiltService } from "../built/service.ts";

export interface Resource {
  id: number;
  name: string;
}

export interface Answer {
  status: number;
  /** The version in the entity tag. */
  version: number | undefined;
  /** The code of an error. */
  code: string | undefined;
  body: unknown;
  /** The order in which the database ran it. */
  bookmark: string;
}

export interface Change {
  method: string;
  path: string;
  body?: object;
  headers?: Record<string, string>;
}

/** A client with its own key, because a key is limited to a thousand requests a minute. */
export async function newClient(service: BuiltService) {
  const key = await grantProductionKey(service.worker);
  return async ({ method, path, body, headers = {} }: Change): Promise<Answer> => {
    const url = new URL(path, service.url).href;
    const response = await fetch(url, {
      method,
      headers: { Authorization: `Bearer ${key}`, "Content-Type": "application/json", ...headers },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    await expectDocumented(method, url, response);
    const text = await response.text();
    const content: unknown = text === "" ? undefined : JSON.parse(text);
    const [, version] = /^"(\d+)"$/.exec(response.headers.get("ETag") ?? "") ?? [];
    return {
      status: response.status,
      version: version === undefined ? undefined : Number(version),
      code: response.status < 400 ? undefined : (content as ErrorBody).code,
      body: content,
      bookmark: response.headers.get("x-d1-bookmark") ?? "",
    };
  };
}
export type Client = Awaited<ReturnType<typeof newClient>>;

export const post = (path: string, body: object, headers = {}): Change => ({ method: "POST", path, body, headers });
export const get = (path: string): Change => ({ method: "GET", path });
export const patch = (path: string, body: object, version?: number): Change => ({
  method: "PATCH",
  path,
  body,
  headers: ifMatch(version),
});
export const remove = (path: string, version?: number): Change => ({
  method: "DELETE",
  path,
  headers: ifMatch(version),
});
const ifMatch = (version: number | undefined): Record<string, string> =>
  version === undefined ? {} : { "If-Match": `"${version}"` };

/** Sorts responses by the order in which the database ran their requests: a later bookmark is the greater string. */
export const byTime = (a: Answer, b: Answer) => (a.bookmark < b.bookmark ? -1 : 1);

/** The number of responses with each status, or with each code for errors. */
export function tally(answers: Answer[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const { status, code } of answers) {
    const name = code === undefined ? `${status}` : `${status} ${code}`;
    counts[name] = (counts[name] ?? 0) + 1;
  }
  return counts;
}

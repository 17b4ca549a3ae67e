import { expect } from "vitest";
import { type Answer, type Change, type Client, get, post, type Resource } from "./changes.ts";
import type { BuiltService } from "../built/service.ts";

/** The number of concurrent requests for one resource. */
export const AT_ONCE = 20;
/** The number of resources for which two requests race. */
export const PAIRS = 40;

/** Creates a resource and returns its address. */
export async function create(send: Client, path: string, body: object): Promise<string> {
  const answer = await send(post(path, body));
  expect(answer).toMatchObject({ status: 201, version: 1 });
  return `${path}/${(answer.body as Resource).id}`;
}

/**
 * Sends changes at once, behind other requests. Without those, the first change would finish before the second reaches the
 * database.
 */
export async function sendAll(send: Client, changes: Change[]): Promise<Answer[]> {
  const others = Promise.all(changes.map(() => send(get("/v1/pets"))));
  const answers = await Promise.all(changes.map((change) => send(change)));
  await others;
  return answers;
}

/**
 * Sends two changes for each of many resources, all at once. Half of the deletions first wait for another response of the
 * service, because a deletion has no body and would nearly always be first.
 */
export async function race(
  service: BuiltService,
  resources: string[],
  send: Client,
  deletion: (address: string) => Change,
  other: (address: string) => Change,
) {
  const races = await Promise.all(
    resources.map(async (address, index) => {
      const changed = send(other(address));
      if (index % 2 === 0) await fetch(new URL("/health", service.url));
      const [removed, answer] = await Promise.all([send(deletion(address)), changed]);
      return { address, removed, changed: answer, isRemovedFirst: removed.bookmark < answer.bookmark };
    }),
  );
  expect(new Set(races.map(({ isRemovedFirst }) => isRemovedFirst)), "both orders").toEqual(new Set([true, false]));
  return races;
}

export const many = <T>(count: number, make: (index: number) => T): T[] =>
  Array.from({ length: count }, (_, i) => make(i));

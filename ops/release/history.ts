import type { Cloudflare } from "./cloudflare.ts";
import { type Deployment, listVersions, readVersion, type Shares } from "./deployment.ts";

/** What the deployments of a Worker tell about its versions. */
export interface History {
  /** The version that has all requests now. Undefined during a gradual release. */
  present: string | undefined;
  /** Whether the last change went back to an earlier version. */
  wentBack: boolean;
  /** The versions before the present one that had all requests and that nobody went back from since, the latest first. */
  earlier: string[];
}

/**
 * Reads the history of a Worker from its deployments alone, so that it makes no difference who went back, and how.
 *
 * @param deployments the present one first. wrangler speaks of the last ten, so a place in the list is no age.
 */
export async function readHistory(
  cloudflare: Cloudflare,
  worker: string,
  deployments: readonly Deployment[],
): Promise<History> {
  const versions = await listVersions(cloudflare, worker);
  // That list is bounded as well.
  const listed = new Set(versions.map(({ id }) => id));
  const deployed = new Set(deployments.flatMap(({ versions: shares }) => shares.map(({ version_id }) => version_id)));
  const others = [...deployed].filter((id) => !listed.has(id)).map((id) => readVersion(cloudflare, worker, id));
  versions.push(...(await Promise.all(others)));
  return historyOf(deployments, new Map(versions.map(({ id, number }) => [id, number ?? 0])));
}

/** @param numbers of the versions by their ids. They ascend with each upload. */
export function historyOf(deployments: readonly Deployment[], numbers: ReadonlyMap<string, number>): History {
  const numberOf = (id: string) => numbers.get(id) ?? 0;
  const newestOf = (ids: readonly string[]) => Math.max(...ids.map(numberOf));
  /** The versions that had all requests. Not those that a return to an earlier version left behind. */
  const good = new Set<string>();
  let current: string[] = [];
  let wentBack = false;
  for (const { versions: shares } of deployments.toReversed()) {
    const next = shares.map(({ version_id }) => version_id);
    const newest = newestOf(next);
    const isBack = newestOf(current) > newest;
    // The same versions again, or other shares of them, change nothing.
    if (!isSame(current, next)) wentBack = isBack;
    if (isBack) for (const id of good) if (numberOf(id) > newest) good.delete(id);
    if (next.length === 1) good.add(next[0] ?? "");
    current = next;
  }
  const [present, second] = current;
  const isWhole = second === undefined;
  // A version of a gradual release may have had all requests before.
  if (isWhole) good.delete(present ?? "");
  return {
    present: isWhole ? present : undefined,
    wentBack,
    earlier: [...good].toSorted((a, b) => numberOf(b) - numberOf(a)),
  };
}

export function mainVersion([first, ...rest]: Shares): string {
  return rest.reduce((main, share) => (share.percentage > main.percentage ? share : main), first).version_id;
}

function isSame(left: readonly string[], right: readonly string[]): boolean {
  return left.length === right.length && left.every((id) => right.includes(id));
}

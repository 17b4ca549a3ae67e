import type { Deployment, Shares } from "./deployment.ts";

/** What the deployments of a Worker tell about its versions. */
export interface History {
  /** The version that has all requests now. Undefined during a gradual release. */
  present: string | undefined;
  /** Whether the last change went back to an earlier version. */
  wentBack: boolean;
  /** The versions that had all requests before the present one and that nobody went back from, the latest first. */
  earlier: string[];
}

/**
 * Reads the history of a Worker from its deployments alone, so that it makes no difference who went back, and how.
 *
 * @param deployments the present one first.
 */
export function historyOf(deployments: readonly Deployment[]): History {
  /** In the order in which they first appear, which is the order in which they were made. */
  const versions: string[] = [];
  const full = new Set<string>();
  const withdrawn = new Set<string>();
  let current: string[] = [];
  let wentBack = false;
  for (const { versions: shares } of deployments.toReversed()) {
    const next = shares.map(({ version_id }) => version_id);
    versions.push(...next.filter((id) => !versions.includes(id)));
    const newest = Math.max(...next.map((id) => versions.indexOf(id)));
    const left = current.filter((id) => versions.indexOf(id) > newest);
    // The same versions again, or other shares of them, change neither.
    if (!isSame(current, next)) wentBack = left.length > 0;
    for (const id of left) withdrawn.add(id);
    for (const id of next) withdrawn.delete(id);
    if (next.length === 1) full.add(next[0] ?? "");
    current = next;
  }
  const [present, second] = current;
  const isWhole = second === undefined;
  const newest = Math.max(...current.map((id) => versions.indexOf(id)));
  // A version of a gradual release may have had all requests before.
  const candidates = versions.slice(0, isWhole ? Math.max(newest, 0) : newest + 1);
  const earlier = candidates.filter((id) => full.has(id) && !withdrawn.has(id));
  return { present: isWhole ? present : undefined, wentBack, earlier: earlier.toReversed() };
}

/** The version with most requests. */
export function mainVersion(shares: Shares): string | undefined {
  return shares.toSorted((a, b) => b.percentage - a.percentage)[0]?.version_id;
}

function isSame(left: readonly string[], right: readonly string[]): boolean {
  return left.length === right.length && left.every((id) => right.includes(id));
}

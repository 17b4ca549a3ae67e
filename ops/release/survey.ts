import type { Cloudflare } from "./cloudflare.ts";
import {
  ChangedMeanwhile,
  type Deployment,
  listDeployments,
  readVersion,
  resourcesOf,
  type Version,
} from "./deployment.ts";
import { pendingMigration } from "./durable-objects.ts";
import type { ResourceIds } from "./configuration.ts";
import { mainVersion, readHistory } from "./history.ts";
import { refuseOlder, type Revision } from "./commit.ts";
import type { Target } from "./target.ts";

/** What is deployed before a release. */
export interface Survey {
  /** The latest first. Empty when there is no Worker. */
  deployments: Deployment[];
  /** The versions that respond to requests. */
  versions: Version[];
  /** The resources of the version with most requests, by their ids. */
  bound: ResourceIds;
  /** The migration of Durable Objects that the release brings, by its tag. Undefined for a first release. */
  migration: string | undefined;
}

export async function surveyWorker(cloudflare: Cloudflare, target: Target): Promise<Survey> {
  const { worker } = target;
  const deployments = await listDeployments(cloudflare, worker);
  const shares = deployments[0]?.versions;
  const ids = shares?.map(({ version_id }) => version_id) ?? [];
  const versions = await Promise.all(ids.map((id) => readVersion(cloudflare, worker, id)));
  const main = versions.find(({ id }) => shares && id === mainVersion(shares));
  const bound = main ? resourcesOf(main) : { database: undefined, namespace: undefined };
  return { deployments, versions, bound, migration: await pendingMigration(cloudflare, target) };
}

/** @throws Error when this commit may not follow what is deployed. */
export function refuseSurvey(
  { worker }: Target,
  { versions, migration }: Survey,
  revision: Revision,
  { gradual, force }: { gradual?: number; force?: true },
): void {
  if (gradual !== undefined && versions.length === 0) {
    throw new Error(`${worker} has no version yet. The first release cannot be gradual: leave out --gradual.`);
  }
  if (gradual !== undefined && versions.length > 1) {
    throw new Error(`A gradual release of ${worker} is under way. Promote a version or roll back first.`);
  }
  if (gradual !== undefined && migration !== undefined) {
    throw new Error(
      `This release brings the migration ${migration} of Durable Objects, which Cloudflare applies for all requests at once: leave out ` +
        "--gradual. docs/releases.md explains the two releases that a new class takes.",
    );
  }
  if (force) return;
  for (const { id, annotations } of versions) refuseOlder(revision, id, annotations?.["workers/message"]);
}

/**
 * @throws ChangedMeanwhile when somebody went back to an earlier version between two surveys. A newer release may have come between them,
 * but not without a lease.
 */
export async function refuseChange(
  cloudflare: Cloudflare,
  { worker }: Target,
  { before, now, hasLease }: { before: Survey; now: Survey; hasLease: boolean },
): Promise<void> {
  const [first] = before.deployments;
  const [present] = now.deployments;
  if (present?.id === first?.id) return;
  if (!hasLease || (first !== undefined && present === undefined)) throw new ChangedMeanwhile(worker, present);
  if (first === undefined) return;
  const { wentBack } = await readHistory(cloudflare, worker, now.deployments);
  if (wentBack) throw new ChangedMeanwhile(worker, present);
}

import { confirmProduction, type Terminal } from "../terminal.ts";
import { runChecks } from "./checks.ts";
import { type Cloudflare, connect } from "./cloudflare.ts";
import { listMigrations, migrate, type Place, prepareDatabase, readBookmark } from "./database.ts";
import { deploy, deployFirst, listDeployments, share, type Shares, uploadVersion } from "./deployment.ts";
import { checkRevision, type Revision } from "./revision.ts";
import { smokeTest } from "./smoke-test.ts";
import { codeRollback, type Outcome, showGradual, showRelease } from "./summary.ts";
import { addressOf, readTarget, type Target } from "./target.ts";
import type { TargetOptions } from "./values.ts";

export interface ReleaseOptions extends TargetOptions, Place {
  commit?: string;
  untagged?: true;
  skipChecks?: true;
  /** Percent of the requests. */
  gradual?: number;
}

/**
 * Releases the commit that is checked out. Every step first looks at what is there, so a release that failed or was interrupted
 * can be repeated.
 *
 * @throws Error when a check or a step fails. The steps before it stay done.
 */
export async function release(options: ReleaseOptions, terminal: Terminal): Promise<void> {
  const revision = checkRevision(options);
  const change = `This releases v${revision.version} (${revision.commit.slice(0, 12)}) to ${options.env}.`;
  terminal.say(change);
  const cloudflare = await connect(terminal);
  await confirmProduction(options, change, terminal);
  const target = await readTarget(options.env);
  const [present = []] = await listDeployments(cloudflare, target.worker);
  if (options.gradual !== undefined) refuseGradual(target, present);
  if (options.skipChecks !== true) await runChecks(terminal);

  await prepareDatabase(cloudflare, target.database, options, terminal);
  const bookmark = await readBookmark(cloudflare, target);
  terminal.say(`Bookmark before the migrations: ${bookmark}`);
  await listMigrations(cloudflare, `--env=${target.env}`);
  await migrate(cloudflare, `--env=${target.env}`);

  const version = await deployCode(cloudflare, target, revision, present, options.gradual);
  const outcome: Outcome = {
    target,
    version,
    address: options.url ?? (await addressOf(cloudflare, target.configuration)),
    bookmark,
    previous: present.toSorted((a, b) => b.percentage - a.percentage)[0]?.version_id,
  };
  try {
    await smokeTest(
      { ...outcome, wait: options.wait, ...(options.gradual !== undefined && { pinnedTo: target.worker }) },
      terminal,
    );
  } catch (error) {
    terminal.say(`\nVersion ${version} is deployed. To roll back: ${codeRollback(outcome)}`);
    throw error;
  }
  if (options.gradual === undefined) showRelease(outcome, terminal);
  else showGradual(outcome, options.gradual, terminal);
}

function refuseGradual({ worker }: Target, present: Shares): void {
  if (present.length === 0) {
    throw new Error(`${worker} has no version yet. The first release cannot be gradual: leave out --gradual.`);
  }
  if (present.length > 1) {
    throw new Error(`A gradual release of ${worker} is under way. Promote a version or roll back first.`);
  }
}

async function deployCode(
  cloudflare: Cloudflare,
  target: Target,
  revision: Revision,
  [present]: Shares,
  percentage: number | undefined,
): Promise<string> {
  if (present === undefined) return deployFirst(cloudflare, target, revision);
  if (percentage === undefined) return deploy(cloudflare, target, revision);
  const version = await uploadVersion(cloudflare, target, revision);
  await share(cloudflare, target, [
    { version_id: version, percentage },
    { version_id: present.version_id, percentage: 100 - percentage },
  ]);
  return version;
}

import { confirmProduction, type Terminal } from "../terminal.ts";
import { runChecks } from "./checks.ts";
import { type Cloudflare, connect } from "./cloudflare.ts";
import { writeConfiguration } from "./configuration.ts";
import { findDatabase, type Database, migrate, readBookmark } from "./database.ts";
import { applySettings, confirmPresent, type Deployment, deployAtOnce, share, uploadVersion } from "./deployment.ts";
import { mainVersion } from "./history.ts";
import { type Lease, takeLease } from "./lease.ts";
import { OptionalDatabase } from "./optional-database.ts";
import { createReadinessKey } from "./readiness.ts";
import { checkRevision, hasNewIds, type Revision } from "./commit.ts";
import {
  findOwnDatabase,
  findOwnNamespace,
  prepareDatabase,
  prepareNamespace,
  refuseOtherResources,
  type ResourceOptions,
} from "./resources.ts";
import { smokeTest } from "./smoke-test.ts";
import { codeRollback, oneWay, type Outcome, showGradual, showRelease } from "./summary.ts";
import { refuseChange, refuseSurvey, type Survey, surveyWorker } from "./survey.ts";
import { addressOf, readTarget, type Target } from "./target.ts";
import type { TargetOptions } from "./options.ts";

export interface ReleaseOptions extends TargetOptions, ResourceOptions {
  commit?: string;
  untagged?: true;
  skipChecks?: true;
  /** Releases a commit that does not descend from the deployed one. */
  force?: true;
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
  const name = `v${revision.version} (${revision.commit.slice(0, 12)})`;
  const change = `This releases ${name} to ${options.env}.`;
  terminal.say(change);
  const cloudflare = await connect(terminal);
  const target = readTarget(options.env);
  const before = await surveyWorker(cloudflare, target);
  refuseSurvey(target, before, revision, options);
  refuseOtherResources(target, before, options, terminal);
  if (before.migration !== undefined) terminal.say(oneWay(before.migration));
  await confirmProduction(options, terminal);
  const isNew = options.newDatabase === true || options.newNamespace === true;
  const d1 = new OptionalDatabase(revision, before, isNew, terminal);
  await d1.use(() => findOwnDatabase(cloudflare, target, options));
  await findOwnNamespace(cloudflare, target, options);
  if (options.skipChecks !== true) await runChecks(terminal);

  const database = await d1.use(() => prepareDatabase(cloudflare, target, options, terminal));
  const holder = { worker: target.worker, command: `the release of ${name}`, yields: true };
  const lease = database && (await d1.use(() => takeLease(cloudflare, database, holder, terminal)));
  try {
    // Others may have released or rolled back during the checks, or while this waited for them.
    const survey = await surveyWorker(cloudflare, target);
    await refuseChange(cloudflare, target, { before, now: survey, hasLease: lease !== undefined });
    refuseSurvey(target, survey, revision, options);
    refuseOtherResources(readTarget(options.env), survey, options, terminal);
    if (database !== undefined)
      await prepareNamespace(cloudflare, target, database.jurisdiction ?? undefined, options, terminal);
    await releaseWith(
      { cloudflare, target: readTarget(options.env), revision, d1, database, lease, survey },
      options,
      terminal,
    );
    if (hasNewIds())
      terminal.say(
        "\nCommit wrangler.toml: it names the resources of this environment now, which every later command needs.",
      );
  } finally {
    await lease?.free();
  }
}

interface Work {
  cloudflare: Cloudflare;
  target: Target;
  revision: Revision;
  d1: OptionalDatabase;
  /** Undefined when D1 is lost, and so is the lease. */
  database: Database | undefined;
  lease: Lease | undefined;
  survey: Survey;
}

async function releaseWith(work: Work, options: ReleaseOptions, terminal: Terminal): Promise<void> {
  const { cloudflare, target, d1, database, survey } = work;
  const { database: id = "", namespace = "" } = target.ids;
  const config = writeConfiguration(target.configuration);
  const bookmark = database && (await d1.use(() => readBookmark(cloudflare, database)));
  if (bookmark !== undefined) terminal.say(`\nBookmark before the migrations: ${bookmark}`);
  try {
    await d1.use(() => migrate(cloudflare, id, config, terminal));
  } catch (error) {
    terminal.say(`\nThe migrations were not all applied. Nothing is deployed: ${target.worker} is as it was before.`);
    throw error;
  }
  // Before the deployment, after which every failure has to name the way back.
  const isDatabaseGone = await isGone(cloudflare, survey.bound.database, id);
  const key = await createReadinessKey(cloudflare, namespace, target.env, terminal);
  try {
    const [present] = survey.deployments;
    const { version, deployment } = await deployCode(work, config, options.gradual);
    const outcome: Outcome = {
      target,
      version,
      address: options.url ?? (await addressOf(cloudflare, target.configuration)),
      bookmark,
      previous: present && mainVersion(present.versions),
      isDatabaseGone,
      migration: survey.migration,
    };
    try {
      // A gradual release leaves the settings to the version that has most requests.
      if (options.gradual === undefined && !isAtOnce(survey)) await applySettings(cloudflare, target, config);
      const pinned = options.gradual === undefined ? {} : { pinnedTo: target.worker };
      const lacking = d1.isLost ? ({ mayLackDatabase: true } as const) : {};
      await smokeTest({ ...outcome, ...pinned, ...lacking, wait: options.wait, key: key.key }, terminal);
      await confirmPresent(cloudflare, target.worker, deployment);
    } catch (error) {
      terminal.say(`\nVersion ${version} is deployed. To roll back: ${codeRollback(outcome)}`);
      throw error;
    }
    if (options.gradual === undefined) showRelease(outcome, terminal);
    else showGradual(outcome, options.gradual, terminal);
  } finally {
    await key.remove();
  }
}

/** Whether the database of the version before is another one, which is gone. */
async function isGone(cloudflare: Cloudflare, before: string | undefined, present: string): Promise<boolean> {
  if (before === undefined || before === present) return false;
  return (await findDatabase(cloudflare, before)) === undefined;
}

/** Whether the upload deploys as well: that of a first version, and that of a migration of Durable Objects. */
function isAtOnce({ deployments, migration }: Survey): boolean {
  return deployments.length === 0 || migration !== undefined;
}

/** Uploads the code. Only then, and only if nobody changed anything meanwhile, requests go to it. */
async function deployCode(
  { cloudflare, target, revision, d1, lease, survey }: Work,
  config: string,
  gradual: number | undefined,
): Promise<{ version: string; deployment: Deployment }> {
  const { worker } = target;
  const [present] = survey.deployments;
  const confirm = async () => d1.use(async () => lease?.confirm());
  if (present === undefined || isAtOnce(survey)) {
    await confirm();
    return deployAtOnce(cloudflare, target, { revision, config, before: present });
  }
  const version = await uploadVersion(cloudflare, revision, config);
  const rest = mainVersion(present.versions) ?? version;
  const shares =
    gradual === undefined
      ? [{ version_id: version, percentage: 100 }]
      : [
          { version_id: version, percentage: gradual },
          { version_id: rest, percentage: 100 - gradual },
        ];
  await confirm();
  const message = `npm run release of ${revision.commit.slice(0, 12)}`;
  return { version, deployment: await share(cloudflare, worker, { shares, expected: present, message }) };
}

import { Interruption } from "../interruption.ts";
import { confirmProduction, type Terminal } from "../terminal.ts";
import { runNpm } from "../../scripts/npm.ts";
import { type Cloudflare, connect } from "./cloudflare.ts";
import { writeConfiguration } from "./configuration.ts";
import { findDatabase, type Database, migrate, readBookmark } from "./database.ts";
import {
  applySettings,
  build,
  confirmPresent,
  type Deployment,
  deployAtOnce,
  messageOf,
  passPointOfNoReturn,
  share,
  type Shares,
  uploadVersion,
} from "./deployment.ts";
import { mainVersion } from "./history.ts";
import { type Lease, takeLease } from "./lease.ts";
import { needsDatabase, OptionalDatabase } from "./optional-database.ts";
import { createReadinessKey } from "./readiness.ts";
import { checkRevision, hasNewIds, type Revision } from "./commit.ts";
import {
  findOwn,
  findOwnDatabase,
  prepareDatabase,
  prepareNamespace,
  refuseOtherResources,
  refuseRenamed,
  type ResourceOptions,
} from "./resources.ts";
import { refuseSettings } from "./settings.ts";
import { smokeTest } from "./smoke-test.ts";
import { codeRollback, oneWay, type Outcome, showOutcome } from "./summary.ts";
import { refuseChange, refuseSurvey, type Survey, surveyWorker } from "./survey.ts";
import { addressOf, readTarget, type Target } from "./target.ts";
import { hasSecret, versionOfSecret, withNewTokenSecret } from "./token-secret.ts";
import type { TargetOptions } from "./options.ts";

export interface ReleaseOptions extends TargetOptions, ResourceOptions {
  commit?: string;
  untagged?: true;
  skipChecks?: true;
  /** Releases a commit that does not descend from the deployed one. */
  force?: true;
  /** Percent of the requests. */
  gradual?: number;
  /** Ends all customer tokens. */
  newTokenSecret?: true;
}

/**
 * Releases the commit that is checked out. Every step first looks at what is there, so a release that failed or was interrupted
 * can be repeated.
 *
 * @throws Error when a check or a step fails. The steps before it stay done. The last line says which.
 */
export async function release(options: ReleaseOptions, terminal: Terminal): Promise<void> {
  const interruption = new Interruption("Nothing was changed.");
  await interruption.run(terminal, () => releaseOnce(options, terminal, interruption));
}

async function releaseOnce(options: ReleaseOptions, terminal: Terminal, interruption: Interruption): Promise<void> {
  const revision = checkRevision(options);
  const name = `v${revision.version} (${revision.commit.slice(0, 12)})`;
  terminal.say(`This releases ${name} to ${options.env}.`);
  const cloudflare = await connect(terminal);
  const target = readTarget(options.env);
  refuseSettings(target);
  const before = await surveyWorker(cloudflare, target);
  refuseSurvey(target, before, revision, options);
  refuseOtherResources(target, before, options, terminal);
  await refuseRenamed(cloudflare, target, before);
  if (before.migration !== undefined) terminal.say(oneWay(before.migration));
  await confirmProduction(options, terminal);
  const isNew = options.newDatabase === true || options.newNamespace === true;
  const d1 = new OptionalDatabase(() => needsDatabase(revision, before, isNew), terminal);
  await d1.use(() => findOwnDatabase(cloudflare, target, options));
  await findOwn(cloudflare, target, "namespace", options);
  if (options.skipChecks !== true) {
    terminal.say("\n$ npm run check");
    if (!(await runNpm(["run", "check"]))) throw new Error("npm run check fails, so nothing was released.");
  }

  const database = await d1.use(() => prepareDatabase(cloudflare, target, options, terminal));
  // Nobody could roll back behind a release that brings a class, so a rollback waits for it, and then says so.
  const { worker } = target;
  const holder = { worker, command: `the release of ${name}`, yields: before.migration === undefined };
  const lease = database && (await d1.use(() => takeLease(cloudflare, database, holder, terminal)));
  interruption.cleanUp = async () => lease?.free();
  try {
    // Others may have released or rolled back during the checks, or while this waited for them.
    const survey = await surveyWorker(cloudflare, target);
    await refuseChange(cloudflare, target, { before, now: survey, hasLease: lease !== undefined });
    refuseSurvey(target, survey, revision, options);
    refuseOtherResources(readTarget(options.env), survey, options, terminal);
    if (database !== undefined) await prepareNamespace(cloudflare, target, database, options, terminal);
    const work = { cloudflare, target: readTarget(options.env), revision, d1, database, lease, survey, interruption };
    await releaseWith(work, options, terminal);
    if (hasNewIds())
      terminal.say(
        "\nCommit wrangler.toml: it names the resources of this environment now. Every later command needs them.",
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
  interruption: Interruption;
}

async function releaseWith(work: Work, options: ReleaseOptions, terminal: Terminal): Promise<void> {
  const { cloudflare, target, d1, database, survey, interruption } = work;
  const { database: id = "", namespace = "" } = target.ids;
  const config = writeConfiguration(target.configuration);
  const bundle = isAtOnce(survey) ? await build(cloudflare, config) : undefined;
  const bookmark = database && (await d1.use(() => readBookmark(cloudflare, database)));
  if (bookmark !== undefined) terminal.say(`\nBookmark before the migrations: ${bookmark}`);
  interruption.state = "This release deployed nothing.";
  await interruption.pass(
    `The migrations are perhaps not all applied. ${interruption.state}`,
    () => d1.use(() => migrate(cloudflare, id, config, terminal)),
    async () => true,
  );
  interruption.state = `${d1.isLost ? "" : "All migrations are applied. "}This release deployed nothing.`;
  const kept = options.newTokenSecret === true ? undefined : await versionOfSecret(cloudflare, target.worker);
  // Before the deployment, after which every failure has to name the way back.
  const [present] = survey.deployments;
  const known = {
    target,
    address: options.url ?? (await addressOf(cloudflare, target.configuration)),
    bookmark,
    previous: present && mainVersion(present.versions),
    isDatabaseGone: await isGone(cloudflare, survey.bound.database, id),
    migration: survey.migration,
    hasNewSecret: kept === undefined,
  };
  const wayBack = `To roll back: ${codeRollback(known)}`;
  const key = await createReadinessKey(cloudflare, namespace, target.env, terminal);
  try {
    const of = `the secret for customer tokens of version ${kept}, which has no requests now. If it is another one, the tokens of now end.`;
    // A release with a new secret may have failed.
    if (!survey.versions.some(({ id }) => id === kept))
      terminal.say(`\nThe new version gets ${kept ? of : "a new secret for customer tokens."}`);
    if (!kept && !bundle) interruption.state += " The next release may take its new secret for customer tokens.";
    const withSecret: typeof withNewTokenSecret = kept ? (upload) => upload([]) : withNewTokenSecret;
    const uploaded = bundle ?? (await withSecret((more) => uploadVersion(cloudflare, work.revision, config, more)));
    await d1.use(async () => work.lease?.confirm());
    if (present !== undefined) await confirmPresent(cloudflare, target.worker, present);
    const change = {
      deploy: () => deployCode(work, { config, uploaded, withSecret, gradual: options.gradual }),
      before: present,
      during: `A new version may be deployed: npx wrangler deployments status --env ${target.env} shows it. ${wayBack}`,
      after: (version: string) => `Version ${version} is deployed. ${wayBack}`,
      commit: isAtOnce(survey) ? messageOf(work.revision) : undefined,
    };
    const deployment = await passPointOfNoReturn(cloudflare, target.worker, change, interruption);
    const outcome: Outcome = { ...known, version: deployment.versions[0].version_id };
    // A gradual release leaves the settings to the version that has most requests.
    const isGradual = options.gradual !== undefined;
    if (!isGradual && !isAtOnce(survey)) await applySettings(cloudflare, target, config);
    const pinnedTo = isGradual ? target.worker : undefined;
    const test = { ...outcome, pinnedTo, mayLackDatabase: d1.isLost, wait: options.wait, key: key.key };
    await smokeTest(test, terminal);
    await confirmPresent(cloudflare, target.worker, deployment);
    showOutcome(outcome, options.gradual, terminal);
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

interface Uploaded {
  config: string;
  /** The id of the version, or the path of a bundle that is still to be uploaded. */
  uploaded: string;
  withSecret: typeof withNewTokenSecret;
  gradual: number | undefined;
}

async function deployCode(work: Work, { config, uploaded, withSecret, gradual = 100 }: Uploaded): Promise<Deployment> {
  const { cloudflare, target, revision, survey } = work;
  const [present] = survey.deployments;
  if (present === undefined || isAtOnce(survey))
    return withSecret((more) =>
      deployAtOnce(cloudflare, target, { revision, config, bundle: uploaded, more, before: present }),
    );
  const shares: Shares = [{ version_id: uploaded, percentage: gradual }];
  if (gradual < 100) shares.push({ version_id: mainVersion(present.versions), percentage: 100 - gradual });
  const message = `npm run release of ${messageOf(revision)}`;
  const codeUpdate = target.configuration.durable_objects?.code_update_strategy;
  // A gradual release may bring the first secret beside a version that has none.
  const force = gradual < 100 && !survey.versions.every(hasSecret);
  return share(cloudflare, target.worker, { shares, expected: present, message, codeUpdate, force });
}

import { Interruption, StatedFailure } from "../interruption.ts";
import { oneLine } from "../one-line.ts";
import { confirmProduction, type Terminal } from "../terminal.ts";
import { ApiFailure } from "./api.ts";
import { type Cloudflare, connect } from "./cloudflare.ts";
import { findDatabase } from "./database.ts";
import {
  confirmPresent,
  type Deployment,
  inWords,
  listDeployments,
  passPointOfNoReturn,
  readVersion,
  resourcesOf,
  share,
  type Shares,
} from "./deployment.ts";
import { LeaseLost, takeLease } from "./lease.ts";
import { createReadinessKey, type ReadinessKey } from "./readiness.ts";
import { smokeTest } from "./smoke-test.ts";
import { addressOf, readTarget, type Target } from "./target.ts";
import type { TargetOptions } from "./options.ts";

/** Cloudflare refuses to go back to a version whose secrets are not those of the newest version, unless it is forced (code 10220 in wrangler's source). */
const OTHER_SECRETS = 10_220;
const SECRETS_MEANING =
  "has another secret for customer tokens than the newest one, or none. If it is not that of now, the tokens of now end, and those that it signed before are good again until they expire. A leaked one is in use again.";

interface Change {
  cloudflare: Cloudflare;
  target: Target;
  /** The version that gets all requests. */
  version: string;
  /** What the command decided by. */
  present: Deployment;
  /** For the list of deployments. */
  message: string;
  /** For those who wait meanwhile. */
  lease: string;
  /** A promotion yields to one. Only a rollback may go to a version from a time when /health did not tell its id. */
  isRollback: boolean;
}

/** Gives a version of a gradual release all requests. @throws Error when it has no share of them yet. */
export async function promote(options: TargetOptions & { promote: string }, terminal: Terminal): Promise<void> {
  const { promote: version, env } = options;
  terminal.say(`This gives version ${version} all requests of ${env}.`);
  const cloudflare = await connect(terminal);
  await confirmProduction(options, terminal);
  const target = readTarget(env);
  const [present] = await listDeployments(cloudflare, target.worker);
  if (present === undefined || !present.versions.some(({ version_id }) => version_id === version)) {
    const advice =
      present !== undefined && present.versions.length > 1
        ? "Promote one of these."
        : `To release: npm run release -- --env ${env}${present === undefined ? "" : " --gradual 10"}`;
    throw new Error(
      `Version ${version} has no share of the requests of ${target.worker}: ${inWords(present)}. ${advice}`,
    );
  }
  const texts = { message: "npm run release --promote", lease: `the promotion of ${version}` };
  await changeShares({ cloudflare, target, version, present, ...texts, isRollback: false }, options, terminal);
}

/** Gives an uploaded version all requests, and tests it. @throws ChangedMeanwhile */
export async function changeShares(change: Change, options: TargetOptions, terminal: Terminal): Promise<void> {
  const interruption = new Interruption("Nothing was changed.");
  await interruption.run(terminal, () => changeSharesOnce(change, options, terminal, interruption));
}

async function changeSharesOnce(
  { cloudflare, target, version, present, message, lease: command, isRollback }: Change,
  options: TargetOptions,
  terminal: Terminal,
  interruption: Interruption,
): Promise<void> {
  const { worker, env } = target;
  const { url, wait } = options;
  /** A rollback does without what fails: D1 or KV may be its reason. A command that took its lease away stops it all the same. */
  const unlessLost = <Result>(meaning: string, step: () => Promise<Result>) =>
    step().catch((error: unknown) => {
      if (!isRollback || error instanceof LeaseLost) throw error;
      terminal.say(`\n${meaning}: ${oneLine(error)}`);
      return undefined;
    });
  const { database: id = target.ids.database, namespace } = resourcesOf(await readVersion(cloudflare, worker, version));
  const lease = await unlessLost("This goes on without a lease, so a release may come in between", async () => {
    const database = id === undefined ? undefined : await findDatabase(cloudflare, id);
    if (database === undefined) throw new Error(`There is no database ${id ?? target.database}.`);
    return takeLease(cloudflare, database, { worker, command, yields: !isRollback }, terminal);
  });
  interruption.cleanUp = async () => lease?.free();
  let key: ReadinessKey | undefined;
  try {
    // Before the change, so that the key has arrived when the version has.
    key = await unlessLost("There is no key for the smoke test", async () => {
      if (namespace === undefined) throw new Error("The version has no KV namespace.");
      return createReadinessKey(cloudflare, namespace, env, terminal);
    });
    await unlessLost("Nobody knows whether the lease of this command lasts", async () => lease?.confirm());
    const isWhole = present.versions.length === 1 && present.versions[0].version_id === version;
    const shares: Shares = [{ version_id: version, percentage: 100 }];
    // A rollback does not let bad code go on.
    const codeUpdate = isRollback ? undefined : target.configuration.durable_objects?.code_update_strategy;
    const state = `Version ${version} has all requests, but nobody knows whether it is ready.`;
    const division = { shares, expected: present, message, codeUpdate };
    const change = {
      deploy: async () => {
        if (isWhole) return present;
        try {
          return await share(cloudflare, worker, division);
        } catch (error) {
          if (!isRollback || !(error instanceof ApiFailure && error.codes.includes(OTHER_SECRETS))) throw error;
          terminal.say(`\nVersion ${version} ${SECRETS_MEANING}`);
          const again = `Nothing was changed. To go back nevertheless: npm run rollback -- --env ${env} --to ${version} --other-token-secret`;
          if (!options.otherTokenSecret) throw new Error(again, { cause: error });
          return share(cloudflare, worker, { ...division, force: true });
        }
      },
      before: present,
      during: `Version ${version} may have all requests: npx wrangler deployments status --env ${env}`,
      after: () => state,
    };
    const deployment = await passPointOfNoReturn(cloudflare, worker, change, interruption);
    const address = url ?? (await addressOf(cloudflare, target.configuration));
    await smokeTest({ address, version, wait, mayBeOlder: isRollback, key: key?.key }, terminal);
    await confirmPresent(cloudflare, worker, deployment);
    if (key === undefined) throw new StatedFailure(state);
    terminal.print(`\nVersion ${version} gets all requests of ${address.origin}.`);
  } finally {
    await key?.remove();
    await lease?.free();
  }
}

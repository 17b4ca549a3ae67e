import { Interruption, StatedFailure } from "../interruption.ts";
import { oneLine } from "../one-line.ts";
import type { Terminal } from "../terminal.ts";
import type { Cloudflare } from "./cloudflare.ts";
import { findDatabase } from "./database.ts";
import {
  confirmNextTo,
  confirmPresent,
  type Deployment,
  hasDeployedNothing,
  readVersion,
  resourcesOf,
  share,
} from "./deployment.ts";
import { LeaseLost, takeLease } from "./lease.ts";
import { createReadinessKey, type ReadinessKey } from "./readiness.ts";
import { smokeTest } from "./smoke-test.ts";
import { addressOf, type Target } from "./target.ts";
import type { TargetOptions } from "./options.ts";

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
  /** Whether a rollback may come in between. */
  yields: boolean;
  /** Whether the version may be from a time when /health did not tell its id. */
  mayBeOlder?: true;
}

/**
 * Gives an uploaded version all requests, and tests it.
 *
 * @throws Error when somebody changed the deployment meanwhile, and when a step fails.
 */
export async function changeShares(change: Change, options: TargetOptions, terminal: Terminal): Promise<void> {
  const interruption = new Interruption("Nothing was changed.");
  await interruption.run(terminal, () => changeSharesOnce(change, options, terminal, interruption));
}

async function changeSharesOnce(
  change: Change,
  { url, wait }: TargetOptions,
  terminal: Terminal,
  interruption: Interruption,
): Promise<void> {
  const { cloudflare, target, version, present, message, yields, mayBeOlder } = change;
  const { database = target.ids.database, namespace } = resourcesOf(
    await readVersion(cloudflare, target.worker, version),
  );
  const withoutLease = "This goes on without a lease, so a release may come in between";
  const lease = await unlessLost(yields, withoutLease, terminal, () => leaseOf(change, database, terminal));
  interruption.cleanUp = async () => lease?.free();
  let key: ReadinessKey | undefined;
  try {
    // Before the change, so that the key has arrived when the version has.
    key = await unlessLost(yields, "There is no key for the smoke test", terminal, () => {
      if (namespace === undefined) throw new Error("The version has no KV namespace.");
      return createReadinessKey(cloudflare, namespace, target.env, terminal);
    });
    await unlessLost(yields, "Nobody knows whether the lease of this command lasts", terminal, async () =>
      lease?.confirm(),
    );
    const isWhole = present.versions.length === 1 && present.versions[0]?.version_id === version;
    const shares = [{ version_id: version, percentage: 100 }];
    // A rollback does not let bad code go on.
    const codeUpdate = yields ? target.configuration.durable_objects?.code_update_strategy : undefined;
    const during = `Version ${version} may have all requests: npx wrangler deployments status --env ${target.env}`;
    const deployment = isWhole
      ? present
      : await interruption.pass(
          during,
          () => share(cloudflare, target.worker, { shares, expected: present, message, codeUpdate }),
          (error) => hasDeployedNothing(cloudflare, target.worker, present, error),
        );
    interruption.state = `Version ${version} has all requests, but nobody knows whether it is ready.`;
    await confirmNextTo(cloudflare, target.worker, deployment, present);
    const address = url ?? (await addressOf(cloudflare, target.configuration));
    const older = mayBeOlder && { mayBeOlder };
    await smokeTest({ address, version, wait, ...older, ...(key && { key: key.key }) }, terminal);
    await confirmPresent(cloudflare, target.worker, deployment);
    if (key === undefined) throw new StatedFailure(interruption.state);
    terminal.print(`\nVersion ${version} gets all requests of ${address.origin}.`);
  } finally {
    await key?.remove();
    await lease?.free();
  }
}

/** A rollback does without what fails: D1 or KV may be its reason. A command that took its lease away stops it all the same. */
async function unlessLost<Result>(
  yields: boolean,
  meaning: string,
  terminal: Terminal,
  step: () => Promise<Result>,
): Promise<Result | undefined> {
  try {
    return await step();
  } catch (error) {
    if (yields || error instanceof LeaseLost) throw error;
    terminal.say(`\n${meaning}: ${oneLine(error)}`);
    return undefined;
  }
}

async function leaseOf({ cloudflare, target, lease, yields }: Change, id: string | undefined, terminal: Terminal) {
  const database = id === undefined ? undefined : await findDatabase(cloudflare, id);
  if (database === undefined) throw new Error(`There is no database ${id ?? target.database}.`);
  return takeLease(cloudflare, database, { worker: target.worker, command: lease, yields }, terminal);
}

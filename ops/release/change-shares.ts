import { Interruption, StatedFailure } from "../interruption.ts";
import { oneLine } from "../one-line.ts";
import type { Terminal } from "../terminal.ts";
import { ApiFailure } from "./api.ts";
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
import { type Lease, takeLease } from "./lease.ts";
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
  await interruption.watch(terminal, () =>
    changeSharesOnce(change, options, terminal, interruption).catch((error: unknown) => {
      throw interruption.explain(error);
    }),
  );
}

async function changeSharesOnce(
  change: Change,
  { url, wait }: TargetOptions,
  terminal: Terminal,
  interruption: Interruption,
): Promise<void> {
  const { cloudflare, target, version, present, message, mayBeOlder } = change;
  const resources = resourcesOf(await readVersion(cloudflare, target.worker, version));
  const lease = await leaseUnlessLost(change, resources.database, terminal);
  interruption.cleanUp = async () => lease?.free();
  let key: ReadinessKey | undefined;
  try {
    // Before the change, so that the key has arrived when the version has.
    key = await keyUnlessLost(change, resources.namespace, terminal);
    await confirmUnlessLost(change, lease, terminal);
    const isWhole = present.versions.length === 1 && present.versions[0]?.version_id === version;
    const shares = [{ version_id: version, percentage: 100 }];
    // A rollback does not let bad code go on.
    const codeUpdate = change.yields ? target.configuration.durable_objects?.code_update_strategy : undefined;
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

/** A rollback does without the lease when the database of the lease is what failed. */
async function leaseUnlessLost(
  { cloudflare, target, lease, yields }: Change,
  bound: string | undefined,
  terminal: Terminal,
): Promise<Lease | undefined> {
  try {
    const id = bound ?? target.ids.database;
    const database = id === undefined ? undefined : await findDatabase(cloudflare, id);
    if (database === undefined) throw new Error(`There is no database ${id ?? target.database}.`);
    return await takeLease(cloudflare, database, { worker: target.worker, command: lease, yields }, terminal);
  } catch (error) {
    if (yields) throw error;
    terminal.say(`\nThis goes on without a lease, so a release may come in between: ${oneLine(error)}`);
    return undefined;
  }
}

/** D1 may fail in between as well. A command that took the lease away stops a rollback too. */
async function confirmUnlessLost({ yields }: Change, lease: Lease | undefined, terminal: Terminal): Promise<void> {
  try {
    await lease?.confirm();
  } catch (error) {
    if (yields || !(error instanceof ApiFailure)) throw error;
    terminal.say(`\nNobody knows whether the lease of this command lasts: ${oneLine(error)}`);
  }
}

/** A rollback does without the key as well, and then cannot say that it succeeded. */
async function keyUnlessLost(
  { cloudflare, target, yields }: Change,
  namespace: string | undefined,
  terminal: Terminal,
): Promise<ReadinessKey | undefined> {
  try {
    if (namespace === undefined) throw new Error("The version has no KV namespace.");
    return await createReadinessKey(cloudflare, namespace, target.env, terminal);
  } catch (error) {
    if (yields) throw error;
    terminal.say(`\nThere is no key for the smoke test: ${oneLine(error)}`);
    return undefined;
  }
}

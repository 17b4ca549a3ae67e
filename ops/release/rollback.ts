import { confirmProduction, type Terminal } from "../terminal.ts";
import { changeShares } from "./change-shares.ts";
import { type Cloudflare, connect } from "./cloudflare.ts";
import { findDatabase } from "./database.ts";
import { refuseOlderClasses } from "./durable-objects.ts";
import { describeVersion, findVersion, listDeployments, listVersions, readVersion, resourcesOf } from "./deployment.ts";
import { readHistory } from "./history.ts";
import { readTarget, type Target } from "./target.ts";
import type { TargetOptions } from "./options.ts";

/** Versions that the command names at most. */
const CHOICES = 10;

/**
 * Gives an earlier version of the code all requests. The data stays as it is. Repeated, it tests the version again, and changes nothing.
 *
 * @throws Error when there is no earlier version.
 */
export async function rollback(options: TargetOptions & { to?: string }, terminal: Terminal): Promise<void> {
  const { env } = options;
  const cloudflare = await connect(terminal);
  const target = readTarget(env);
  const deployments = await listDeployments(cloudflare, target.worker);
  const [deployment] = deployments;
  if (deployment === undefined) {
    throw new Error(
      `${target.worker} is not deployed, so there is no version. To release: npm run release -- --env ${env}`,
    );
  }
  const { present, wentBack, earlier } = await readHistory(cloudflare, target.worker, deployments);
  const isDone = options.to === undefined ? wentBack && present !== undefined : options.to === present;
  const version = isDone ? present : (options.to ?? (await usableVersion(cloudflare, target, earlier, terminal)));
  const found = version && (await findVersion(cloudflare, target.worker, version));
  if (!version || !found) {
    const others = (await listVersions(cloudflare, target.worker)).filter(({ id }) => id !== present);
    const choices = others.slice(0, CHOICES).map(describeVersion);
    if (choices.length > 0) terminal.say(["The latest versions to choose from:", ...choices].join("\n  "));
    if (version) throw new Error(`${target.worker} has no version ${version}.`);
    const advice = choices.length > 0 ? " Choose one with --to." : "";
    throw new Error(`The deployments of ${target.worker} show no earlier version to go back to.${advice}`);
  }
  await refuseOlderClasses(cloudflare, target, { present: deployment, version: found });
  const details = describeVersion(found);
  const more = options.to === undefined ? " To go back further, say --to." : "";
  terminal.say(
    isDone
      ? `The code of ${env} is already rolled back to ${details}. Nothing changes, and the smoke test runs again.${more}`
      : `This takes the code of ${env} back to ${details}. The data stays as it is.`,
  );
  if (!isDone) await confirmProduction(options, terminal);
  const texts = { message: "npm run rollback", lease: `the rollback to ${version}` };
  const change = { cloudflare, target, version, present: deployment, ...texts, isRollback: true };
  await changeShares(change, options, terminal);
}

/** The first of some versions that has a database and API keys. A version without them was deployed to stop the service. */
async function usableVersion(
  cloudflare: Cloudflare,
  { worker }: Target,
  versions: readonly string[],
  terminal: Terminal,
): Promise<string | undefined> {
  for (const id of versions) {
    const { database, namespace } = resourcesOf(await readVersion(cloudflare, worker, id));
    if (database === undefined || namespace === undefined) continue;
    // A rollback goes on when D1 fails, because D1 may be its reason.
    const isThere = await findDatabase(cloudflare, database).then(
      (found) => found !== undefined,
      () => true,
    );
    if (isThere) return id;
    terminal.say(`Version ${id} is left out: its database ${database} is gone.`);
  }
  return undefined;
}

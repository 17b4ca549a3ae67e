import { confirmProduction, type Terminal } from "../terminal.ts";
import { connect } from "./cloudflare.ts";
import { describeVersion, listDeployments, type Shares } from "./deployment.ts";
import { smokeTest } from "./smoke-test.ts";
import { addressOf, readTarget } from "./target.ts";
import type { TargetOptions } from "./values.ts";

/**
 * Gives an earlier version of the code all requests. The data stays as it is.
 *
 * @throws Error when there is no earlier version, and when a step fails.
 */
export async function rollback(options: TargetOptions & { to?: string }, terminal: Terminal): Promise<void> {
  const { env, wait } = options;
  const cloudflare = await connect(terminal);
  const target = await readTarget(env);
  const deployments = await listDeployments(cloudflare, target.worker);
  const version = options.to ?? earlierVersion(deployments);
  if (version === undefined) throw new Error(`${target.worker} has no earlier version to go back to.`);

  const details = await describeVersion(cloudflare, target.worker, version);
  const change = `This takes the code of ${env} back to ${details}. The data stays as it is.`;
  terminal.say(change);
  await confirmProduction(options, change, terminal);
  await cloudflare.wrangler(["rollback", version, `--env=${env}`, "--yes", "--message=npm run rollback"]);
  const address = options.url ?? (await addressOf(cloudflare, target.configuration));
  await smokeTest({ address, version, wait, mayBeOlder: true }, terminal);
  terminal.print(`\nVersion ${version} gets all requests of ${address.origin}.`);
}

/** The latest version that had all requests, and is not the one that has them now. */
function earlierVersion([present, ...earlier]: Shares[]): string | undefined {
  const stable = earlier.filter((shares) => shares.length === 1).map(([share]) => share?.version_id);
  return stable.find((version) => present?.length !== 1 || version !== present[0]?.version_id);
}

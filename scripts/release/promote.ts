import { confirmProduction, type Terminal } from "../terminal.ts";
import { connect } from "./cloudflare.ts";
import { listDeployments, share } from "./deployment.ts";
import { smokeTest } from "./smoke-test.ts";
import { addressOf, readTarget } from "./target.ts";
import type { TargetOptions } from "./values.ts";

/**
 * Gives a version of a gradual release all requests.
 *
 * @throws Error when it has no share of them yet, and when a step fails.
 */
export async function promote(options: TargetOptions & { promote: string }, terminal: Terminal): Promise<void> {
  const { promote: version, env, wait } = options;
  const change = `This gives version ${version} all requests of ${env}.`;
  terminal.say(change);
  const cloudflare = await connect(terminal);
  await confirmProduction(options, change, terminal);
  const target = await readTarget(env);
  const [present = []] = await listDeployments(cloudflare, target.worker);
  if (!present.some(({ version_id }) => version_id === version)) {
    throw new Error(`Version ${version} is not part of the present deployment of ${target.worker}.`);
  }
  await share(cloudflare, target, [{ version_id: version, percentage: 100 }]);
  const address = options.url ?? (await addressOf(cloudflare, target.configuration));
  await smokeTest({ address, version, wait }, terminal);
  terminal.print(`\nVersion ${version} gets all requests of ${address.origin}.`);
}

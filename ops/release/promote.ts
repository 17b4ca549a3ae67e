import { confirmProduction, type Terminal } from "../terminal.ts";
import { connect } from "./cloudflare.ts";
import { changeShares } from "./change-shares.ts";
import { inWords, listDeployments } from "./deployment.ts";
import { readTarget } from "./target.ts";
import type { TargetOptions } from "./options.ts";

/**
 * Gives a version of a gradual release all requests.
 *
 * @throws Error when it has no share of them yet, and when a step fails.
 */
export async function promote(options: TargetOptions & { promote: string }, terminal: Terminal): Promise<void> {
  const { promote: version, env } = options;
  const change = `This gives version ${version} all requests of ${env}.`;
  terminal.say(change);
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
  const command = { message: "npm run release --promote", lease: `the promotion of ${version}`, yields: true };
  await changeShares({ cloudflare, target, version, present, ...command }, options, terminal);
}

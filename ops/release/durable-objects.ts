import type { Cloudflare } from "./cloudflare.ts";
import { type Deployment, readVersion, type Version } from "./deployment.ts";
import { mainVersion } from "./history.ts";
import type { Target } from "./target.ts";

// The [[migrations]] of wrangler.toml tell Cloudflare which classes of Durable Objects a Worker has. Only `wrangler deploy` applies them,
// for all requests at once. Afterwards, Cloudflare deploys no version from before (source: docs/releases.md).

/**
 * The last migration of this commit that the deployed Worker does not have, by its tag. Undefined when it has all of them, and when there
 * is no Worker yet.
 *
 * @throws Error when the Worker has one that this commit does not know.
 */
export async function pendingMigration(
  cloudflare: Cloudflare,
  { worker, configuration }: Target,
): Promise<string | undefined> {
  const service = await cloudflare.get<{ default_environment: { script: { migration_tag?: string } } }>(
    `/workers/services/${worker}`,
  );
  if (service === undefined) return undefined;
  const { migration_tag: deployed } = service.default_environment.script;
  const tags = (configuration.migrations ?? []).map(({ tag }) => tag);
  if (deployed !== undefined && !tags.includes(deployed)) {
    throw new Error(
      `${worker} has the migration ${deployed} of Durable Objects, and wrangler.toml does not. Release a commit that has it.`,
    );
  }
  return tags.at(-1) === deployed ? undefined : tags.at(-1);
}

/**
 * Refuses a version that Cloudflare would refuse, before anything changes.
 *
 * @param present the present deployment.
 * @throws Error when it is from before a migration of the present version.
 */
export async function refuseOlderClasses(
  cloudflare: Cloudflare,
  { env, worker }: Target,
  { present, version }: { present: Deployment; version: Version },
): Promise<void> {
  const deployed = migrationOf(await readVersion(cloudflare, worker, mainVersion(present.versions)));
  // When Cloudflare does not tell the migration of a version, it has to decide itself.
  if (deployed === undefined || deployed === migrationOf(version)) return;
  throw new Error(
    `Version ${version.id} does not have the migration ${deployed} of Durable Objects, so Cloudflare refuses to go back to it. ` +
      `Take the change back in a commit that keeps the migration, and release it: npm run release -- --env ${env}`,
  );
}

const migrationOf = ({ resources }: Version) => resources?.script_runtime?.migration_tag;

import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Cloudflare } from "./cloudflare.ts";
import { writeConfiguration } from "./configuration.ts";
import { findNamespace, namespaceTitle } from "./namespace.ts";
import type { Revision } from "./revision.ts";
import type { Target } from "./target.ts";

/** Which versions respond to requests, with their shares in percent. */
export type Shares = { version_id: string; percentage: number }[];

interface VersionDetails {
  annotations?: { "workers/tag"?: string; "workers/message"?: string };
  metadata?: { created_on: string };
}

/** The deployments of a Worker, the present one first. Empty when there is no such Worker. */
export async function listDeployments(cloudflare: Cloudflare, worker: string): Promise<Shares[]> {
  const answer = await cloudflare.get<{ deployments: { created_on: string; versions: Shares }[] }>(
    `/workers/scripts/${worker}/deployments`,
  );
  return (answer?.deployments ?? [])
    .toSorted((a, b) => b.created_on.localeCompare(a.created_on))
    .map(({ versions }) => versions);
}

/** A version in words: its id, and the release and the time that it comes from. */
export async function describeVersion(cloudflare: Cloudflare, worker: string, id: string): Promise<string> {
  const version = await cloudflare.get<VersionDetails>(`/workers/scripts/${worker}/versions/${id}`);
  if (version === undefined) throw new Error(`${worker} has no version ${id}.`);
  const { "workers/tag": tag, "workers/message": message } = version.annotations ?? {};
  return [id, tag, message, version.metadata?.created_on].filter((part) => part !== undefined).join(", ");
}

/** Uploads the code and gives it all requests. Returns the id of the new version. */
export function deploy(cloudflare: Cloudflare, { env }: Target, revision: Revision): Promise<string> {
  return upload(cloudflare, ["deploy", `--env=${env}`, ...annotations(revision)]);
}

/**
 * Uploads the code of a Worker that does not exist. wrangler creates its KV namespace, but fails when there is one of that title, from
 * a deployment that was interrupted or from a Worker that was deleted. That one is used then, with the keys in it.
 *
 * @returns the id of the new version.
 */
export async function deployFirst(cloudflare: Cloudflare, target: Target, revision: Revision): Promise<string> {
  const namespace = await findNamespace(cloudflare, namespaceTitle(target.worker));
  if (namespace === undefined) return deploy(cloudflare, target, revision);
  const { configuration } = target;
  const kv_namespaces = configuration.kv_namespaces.map((binding) => ({ ...binding, id: namespace.id }));
  const file = writeConfiguration({ ...configuration, kv_namespaces });
  return upload(cloudflare, ["deploy", `--config=${file}`, ...annotations(revision)]);
}

/** Uploads the code, and gives it no request yet. Returns the id of the new version. */
export function uploadVersion(cloudflare: Cloudflare, { env }: Target, revision: Revision): Promise<string> {
  return upload(cloudflare, ["versions", "upload", `--env=${env}`, ...annotations(revision)]);
}

/** Divides the requests among versions. */
export async function share(cloudflare: Cloudflare, { env }: Target, shares: Shares): Promise<void> {
  const specs = shares.map(({ version_id, percentage }) => `${version_id}@${percentage}%`);
  await cloudflare.wrangler(["versions", "deploy", ...specs, `--env=${env}`, "--yes"]);
}

/** Runs a command that uploads the Worker, and returns the id of the new version. */
export async function upload(cloudflare: Cloudflare, args: readonly string[]): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), "petstore-release-"));
  const output = join(folder, "output.json");
  try {
    // wrangler writes one JSON object a line there, for programs.
    await cloudflare.wrangler(args, { env: { WRANGLER_OUTPUT_FILE_PATH: output } });
    const lines = readFileSync(output, "utf8").trim().split("\n");
    const id = lines.map((line) => (JSON.parse(line) as { version_id?: string | null }).version_id).find(Boolean);
    if (!id) throw new Error(`wrangler ${args[0]} uploaded nothing.`);
    return id;
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** What wrangler shows of a version later. */
function annotations({ version, commit }: Revision): string[] {
  return [`--tag=v${version}`, `--message=${commit.slice(0, 12)}`];
}

import { randomUUID } from "node:crypto";
import { existsSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { type Cloudflare, eventually } from "./cloudflare.ts";
import type { Revision } from "./commit.ts";
import type { Interruption } from "../interruption.ts";
import type { ResourceIds } from "./configuration.ts";
import type { Target } from "./target.ts";

/** Which versions respond to requests, with their shares in percent. */
type Share = { version_id: string; percentage: number };
export type Shares = [Share, ...Share[]];

export interface Deployment {
  id: string;
  created_on: string;
  versions: Shares;
}

export interface Version {
  id: string;
  /** Ascends with each upload. */
  number?: number;
  annotations?: { "workers/tag"?: string; "workers/message"?: string };
  metadata?: { created_on: string };
  resources?: {
    bindings?: {
      name: string;
      type: string;
      id?: string;
      database_id?: string;
      namespace_id?: string;
      text?: string;
    }[];
    script_runtime?: { migration_tag?: string };
  };
}

/** The deployments of a Worker, the present one first. Empty when there is no such Worker. */
export async function listDeployments(cloudflare: Cloudflare, worker: string): Promise<Deployment[]> {
  const answer = await cloudflare.get<{ deployments: Deployment[] }>(`/workers/scripts/${worker}/deployments`);
  return (answer?.deployments ?? []).toSorted((a, b) => b.created_on.localeCompare(a.created_on));
}

/** The present deployment. Older ones than a known one are not believed. */
async function presentDeployment(cloudflare: Cloudflare, worker: string, known: Deployment) {
  return eventually(async () => {
    const [present] = await listDeployments(cloudflare, worker);
    return present !== undefined && present.created_on >= known.created_on ? present : undefined;
  });
}

/** The versions that can be deployed, the newest first, without their resources. */
export async function listVersions(cloudflare: Cloudflare, worker: string): Promise<Version[]> {
  const answer = await cloudflare.get<{ items: Version[] }>(`/workers/scripts/${worker}/versions?deployable=true`);
  return (answer?.items ?? []).toSorted((a, b) => (b.number ?? 0) - (a.number ?? 0));
}

export async function findVersion(cloudflare: Cloudflare, worker: string, id: string): Promise<Version | undefined> {
  return cloudflare.get<Version>(`/workers/scripts/${worker}/versions/${id}`);
}

/** @throws Error when there is no such version. */
export async function readVersion(cloudflare: Cloudflare, worker: string, id: string): Promise<Version> {
  const version = await findVersion(cloudflare, worker, id);
  if (version === undefined) throw new Error(`${worker} has no version ${id}.`);
  return version;
}

/** A version in words: its id, and the release and the time that it comes from. */
export function describeVersion({ id, annotations, metadata }: Version): string {
  const { "workers/tag": tag, "workers/message": message } = annotations ?? {};
  return [id, tag, message, metadata?.created_on].filter((part) => part !== undefined).join(", ");
}

/** The database and the KV namespace that a version uses, by their ids. */
export function resourcesOf({ resources }: Version): ResourceIds {
  const bindings = resources?.bindings ?? [];
  const database = bindings.find(({ name, type }) => name === "DB" && type === "d1");
  const namespace = bindings.find(({ name, type }) => name === "API_KEYS" && type === "kv_namespace");
  return { database: database?.database_id ?? database?.id, namespace: namespace?.namespace_id };
}

/** Somebody else changed which versions respond, after a command had looked. */
export class ChangedMeanwhile extends Error {
  constructor(worker: string, present: Deployment | undefined) {
    super(`Somebody changed the deployment of ${worker} meanwhile: ${inWords(present)}. Look at it, and start again.`);
  }
}

export function inWords(deployment: Deployment | undefined): string {
  const shares = deployment?.versions.map(({ version_id, percentage }) => `version ${version_id} has ${percentage} %`);
  return shares?.join(", ") ?? "there is no deployment";
}

/**
 * Divides the requests among versions, if nobody changed the division meanwhile.
 *
 * @param change with the present deployment, as the command knows it, a message for the list of deployments, when Durable Objects get the
 * new code: at once unless given, and whether the secrets of a version may be others than those of the newest one.
 * @throws ChangedMeanwhile
 */
export async function share(
  cloudflare: Cloudflare,
  worker: string,
  change: { shares: Shares; expected: Deployment; message: string; codeUpdate?: object | undefined; force?: boolean },
): Promise<Deployment> {
  const { shares, expected, message, codeUpdate, force = false } = change;
  await confirmPresent(cloudflare, worker, expected);
  const path = `/workers/scripts/${worker}/deployments${force ? "?force=true" : ""}`;
  const body = {
    strategy: "percentage",
    versions: shares,
    annotations: { "workers/message": message },
    ...(codeUpdate && { code_update_strategy: codeUpdate }),
  };
  const made = await cloudflare.changeOnce<Deployment>({ method: "POST", path, body }, async () => {
    const now = await presentDeployment(cloudflare, worker, expected);
    if (now?.id === expected.id) return undefined;
    if (now === undefined || !isSame(now.versions, shares)) throw new ChangedMeanwhile(worker, now);
    return now;
  });
  return { ...made, versions: shares };
}

/** Looks whether nobody deployed meanwhile: a success is only one when nobody deployed over it. @throws ChangedMeanwhile */
export async function confirmPresent(cloudflare: Cloudflare, worker: string, expected: Deployment): Promise<void> {
  const present = await presentDeployment(cloudflare, worker, expected);
  if (present?.id !== expected.id) throw new ChangedMeanwhile(worker, present);
}

interface PointOfNoReturn {
  deploy: () => Promise<Deployment>;
  /** What the command decided by. Undefined when there was no Worker. */
  before: Deployment | undefined;
  /** The state until it is known what happened, and the one with the new version. */
  during: string;
  after: (version: string) => string;
  /** Whose uploads are not somebody else's: wrangler repeats one after a 5xx. */
  commit?: string | undefined;
}

/**
 * Passes the point of no return, and then looks for a deployment of somebody else between the new one and the one before. Cloudflare has no
 * condition for a deployment, so this may come too late to keep it, and never too late to tell.
 */
export async function passPointOfNoReturn(
  cloudflare: Cloudflare,
  worker: string,
  { deploy, before, during, after, commit }: PointOfNoReturn,
  interruption: Interruption,
): Promise<Deployment> {
  const made = await interruption.pass(during, deploy, async (failure) => {
    if (failure instanceof ChangedMeanwhile) return true;
    const now = await listDeployments(cloudflare, worker).catch(() => undefined);
    return now !== undefined && now[0]?.id === before?.id;
  });
  interruption.state = after(made.versions[0].version_id);
  if (made.id === before?.id) return made;
  const since = (deployment: Deployment) => deployment.created_on > (before?.created_on ?? "");
  const deployments = await listDeployments(cloudflare, worker);
  for (const other of deployments.filter((each) => since(each) && each.created_on < made.created_on)) {
    const version = await findVersion(cloudflare, worker, other.versions[0].version_id);
    if (commit !== undefined && version?.annotations?.["workers/message"] === commit) continue;
    throw new Error(
      `Somebody changed the deployment of ${worker} right before: ${inWords(other)}. This command has deployed over it.`,
    );
  }
  return made;
}

function isSame(left: Shares, right: Shares): boolean {
  const sorted = (shares: Shares) => JSON.stringify(shares.map((s) => `${s.version_id}@${s.percentage}`).toSorted());
  return sorted(left) === sorted(right);
}

/** Builds what `deployAtOnce` uploads, so that a build that fails or takes long comes before. Returns the path of the bundle. */
export async function build(cloudflare: Cloudflare, config: string): Promise<string> {
  const folder = resolve(dirname(config), "bundle");
  await cloudflare.wrangler(["deploy", "--dry-run", `--outdir=${folder}`, `--config=${config}`, "--env="]);
  return join(folder, "index.js");
}

/**
 * Uploads a bundle with its settings and its migrations of Durable Objects, and gives it all requests at once.
 *
 * @param change with wrangler's configuration, which has the ids of the resources, more arguments for wrangler, and the present deployment:
 * undefined when there is no Worker yet.
 */
export async function deployAtOnce(
  cloudflare: Cloudflare,
  target: Target,
  change: {
    revision: Revision;
    config: string;
    bundle: string;
    more: readonly string[];
    before: Deployment | undefined;
  },
): Promise<Deployment> {
  const { worker } = target;
  const { revision, config, bundle, more, before } = change;
  const args = ["deploy", bundle, "--no-bundle", `--config=${config}`, "--env=", ...annotations(revision), ...more];
  const version = await upload(cloudflare, args).catch(async (error: unknown) => {
    // The response to an upload that succeeded may be lost.
    const [made] = await listDeployments(cloudflare, worker);
    if (made === undefined || made.id === before?.id) throw error;
    await applySettings(cloudflare, target, config);
    return made.versions[0].version_id;
  });
  const deployment = await eventually(async () =>
    (await listDeployments(cloudflare, worker)).find(({ versions }) => versions[0].version_id === version),
  );
  if (deployment === undefined) throw new Error(`${worker} was deployed, and its deployment cannot be found yet.`);
  return deployment;
}

/**
 * Uploads the code, and gives it no request yet. Returns the id of the new version.
 *
 * @param more arguments for wrangler.
 */
export function uploadVersion(
  cloudflare: Cloudflare,
  revision: Revision,
  config: string,
  more: readonly string[],
): Promise<string> {
  return upload(cloudflare, ["versions", "upload", `--config=${config}`, "--env=", ...annotations(revision), ...more]);
}

/** Brings the settings that belong to no version to the Worker: those of its log, its addresses and its cron triggers. */
export async function applySettings(cloudflare: Cloudflare, target: Target, config: string): Promise<void> {
  const { worker, configuration } = target;
  const path = `/workers/scripts/${worker}/script-settings`;
  const observability = configuration["observability"] ?? { enabled: false };
  await cloudflare.change({ method: "PATCH", path, body: { observability } });
  await cloudflare.wrangler(["triggers", "deploy", `--config=${config}`, "--env="]);
}

/** Runs a command that uploads the Worker, and returns the id of the new version. */
export async function upload(cloudflare: Cloudflare, args: readonly string[]): Promise<string> {
  // wrangler writes one JSON object a line there, for programs.
  const output = join(tmpdir(), `petstore-release-${randomUUID()}.json`);
  try {
    await cloudflare.wrangler(args, { WRANGLER_OUTPUT_FILE_PATH: output });
    const said = existsSync(output) ? readFileSync(output, "utf8") : "";
    const [, id] = said.match(/"version_id":"([^"]+)"/) ?? [];
    if (id === undefined) throw new Error(`wrangler ${args[0]} ended well, and told of no version that it uploaded.`);
    return id;
  } finally {
    rmSync(output, { force: true });
  }
}

/** What wrangler shows of a version later. */
function annotations(revision: Revision): string[] {
  return [`--tag=v${revision.version}`, `--message=${messageOf(revision)}`];
}

/** The commit, as a version tells it. */
export const messageOf = ({ commit }: Revision) => commit.slice(0, 12);

import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { randomBase62 } from "../../src/auth/key-format.ts";
import type { Cloudflare } from "./cloudflare.ts";
import { listVersions, readVersion, type Version } from "./deployment.ts";

/** The secret of a Worker that signs its customer tokens. */
export const TOKEN_SECRET = "TOKEN_SECRET";
/** 62^43 > 2^256. */
const LENGTH = 43;

/** Whether a version, with its resources, has the secret. */
export const hasSecret = ({ resources }: Version): boolean =>
  resources?.bindings?.some(({ name, type }) => name === TOKEN_SECRET && type === "secret_text") ?? false;

/** The version whose secret the next version of a Worker has, if there is one: an upload keeps those of the newest version. */
export async function versionOfSecret(cloudflare: Cloudflare, worker: string): Promise<string | undefined> {
  const [newest] = await listVersions(cloudflare, worker);
  return newest && hasSecret(await readVersion(cloudflare, worker, newest.id)) ? newest.id : undefined;
}

/**
 * Runs an upload with a new secret. It is no argument of a process, and in no output: nobody sees it but Cloudflare. The file is for this
 * user alone, and gone afterwards.
 *
 * @param upload gets more arguments for wrangler.
 */
export async function withNewTokenSecret<Result>(upload: (args: string[]) => Promise<Result>): Promise<Result> {
  const folder = mkdtempSync(join(tmpdir(), "petstore-secret-"));
  const file = join(folder, "secrets.json");
  const remove = () => rmSync(folder, { recursive: true, force: true });
  // A signal ends the command in the middle of the upload.
  process.once("exit", remove);
  try {
    // As JSON: wrangler would replace variables in any other form.
    writeFileSync(file, JSON.stringify({ [TOKEN_SECRET]: randomBase62(LENGTH) }), { mode: 0o600 });
    return await upload([`--secrets-file=${file}`]);
  } finally {
    remove();
    process.off("exit", remove);
  }
}

import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { type End, temporaryFolder } from "../../built/folder.ts";
import { idsOf } from "./ids.ts";

export interface Result {
  code: number;
  stdout: string;
  stderr: string;
}

const WRANGLER = resolve("node_modules/wrangler/wrangler-dist/cli.js");
export const STAND_IN = join(import.meta.dirname, "wrangler.ts");

/**
 * A repository with one commit: the current files of this one, committed or not, with the ids of the fake account in wrangler.toml. Its
 * scripts run a stand-in for wrangler.
 */
export class Checkout {
  readonly folder: string;

  /** @param name begins that of its folder. */
  constructor(end?: End, name = "petstore-100%?#1-") {
    this.folder = temporaryFolder(end, name);
    this.git("init", "--quiet");
    const files = execFileSync("git", ["ls-files", "--cached", "--others", "--exclude-standard", "-z"], {
      encoding: "utf8",
    });
    for (const file of files.split("\0")) {
      if (file !== "" && existsSync(file)) cpSync(file, join(this.folder, file));
    }
    // The pages as this run built them. A command builds them again only when their sources change.
    for (const path of ["public", ".dist/public.sha256"]) cpSync(path, join(this.folder, path), { recursive: true });
    const packages = join(this.folder, "node_modules");
    mkdirSync(join(packages, "wrangler/wrangler-dist"), { recursive: true });
    for (const name of readdirSync("node_modules")) {
      if (name !== "wrangler") symlinkSync(resolve("node_modules", name), join(packages, name));
    }
    // Scripts import wrangler itself, whatever they run as wrangler.
    writeFileSync(join(packages, "wrangler/package.json"), '{ "main": "wrangler.js" }');
    symlinkSync(WRANGLER, join(packages, "wrangler/wrangler.js"));
    symlinkSync(resolve("node_modules/wrangler/bin"), join(packages, "wrangler/bin"));
    this.useWrangler(STAND_IN);
    this.nameResources();
    this.commit("All files");
  }

  /** Has the scripts run a program as wrangler: wrangler itself, unless given. */
  useWrangler(program = WRANGLER): void {
    const link = join(this.folder, "node_modules/wrangler/wrangler-dist/cli.js");
    rmSync(link, { force: true });
    symlinkSync(program, link);
  }

  /** Writes the ids of these environments in the fake account to wrangler.toml, and takes all others out. */
  nameResources(environments = ["staging", "production"]): void {
    const file = join(this.folder, "wrangler.toml");
    let settings = readFileSync(file, "utf8").replace(/^(?:database_id|id) = .*\n/gm, "");
    for (const env of environments) {
      const { database, namespace } = idsOf(env);
      settings = settings
        .replace(`database_name = "petstore-${env}"\n`, (line) => `${line}database_id = "${database}"\n`)
        .replace(`[[env.${env}.kv_namespaces]]\nbinding = "API_KEYS"\n`, (lines) => `${lines}id = "${namespace}"\n`);
    }
    writeFileSync(file, settings);
  }

  commit(message: string): void {
    this.git("add", "--all");
    const author = ["-c", "user.name=Somebody", "-c", "user.email=somebody@example.com", "-c", "commit.gpgsign=false"];
    this.git(...author, "commit", "--quiet", "--allow-empty", "--message", message);
  }

  git(...args: string[]): string {
    // The same files make the same commit.
    const env = { ...process.env, GIT_AUTHOR_DATE: "2026-01-01T00:00:00Z", GIT_COMMITTER_DATE: "2026-01-01T00:00:00Z" };
    return execFileSync("git", args, { cwd: this.folder, encoding: "utf8", env }).trim();
  }

  /**
   * Runs a script of the repository until it exits.
   *
   * @param env more of its environment.
   * @param cwd another folder to run it in.
   * @param signal sends the process the signals that are its reason.
   * @param result has what the process printed so far.
   */
  async run(
    script: string,
    args: readonly string[],
    {
      env = {},
      cwd = this.folder,
      signal,
      result = { code: 0, stdout: "", stderr: "" },
    }: { env?: Record<string, string>; cwd?: string; signal?: AbortSignal; result?: Result } = {},
  ): Promise<Result> {
    const child = spawn(process.execPath, [script, ...args], {
      cwd,
      // wrangler is large, so it is compiled once for all tests. A person runs the command, also where CI runs the tests.
      env: { ...process.env, CI: "", NODE_COMPILE_CACHE: resolve(".wrangler/compile-cache"), ...env },
      stdio: ["ignore", "pipe", "pipe"],
    });
    signal?.addEventListener("abort", () => [signal.reason].flat().forEach((name) => child.kill(name)));
    child.stdout.setEncoding("utf8").on("data", (text: string) => void (result.stdout += text));
    child.stderr.setEncoding("utf8").on("data", (text: string) => void (result.stderr += text));
    const [code]: unknown[] = await once(child, "close");
    return Object.assign(result, { code: Number(code ?? 1) });
  }
}

import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { appendFileSync, cpSync, existsSync, mkdtempSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";

export interface Result {
  code: number;
  stdout: string;
  stderr: string;
}

/** A repository with one commit: the current files of this one, committed or not. */
export class Checkout {
  readonly folder = mkdtempSync(join(tmpdir(), "petstore-checkout-"));

  constructor() {
    this.git("init", "--quiet");
    const files = execFileSync("git", ["ls-files", "--cached", "--others", "--exclude-standard", "-z"], {
      encoding: "utf8",
    });
    for (const file of files.split("\0")) {
      if (file !== "" && existsSync(file)) cpSync(file, join(this.folder, file));
    }
    // The pages as this run built them. A command builds them again only when their sources change.
    for (const path of ["public", ".dist/public.sha256"]) cpSync(path, join(this.folder, path), { recursive: true });
    symlinkSync(resolve("node_modules"), join(this.folder, "node_modules"));
    // .gitignore matches a folder, and this is a link.
    appendFileSync(join(this.folder, ".git/info/exclude"), "node_modules\n");
    this.commit("All files");
  }

  commit(message: string): void {
    this.git("add", "--all");
    const author = ["-c", "user.name=Somebody", "-c", "user.email=somebody@example.com", "-c", "commit.gpgsign=false"];
    this.git(...author, "commit", "--quiet", "--allow-empty", "--message", message);
  }

  git(...args: string[]): string {
    return execFileSync("git", args, { cwd: this.folder, encoding: "utf8" }).trim();
  }

  /**
   * Runs a script of the repository until it exits.
   *
   * @param env more of its environment.
   * @param cwd another folder to run it in.
   * @param signal ends the process, and `kill` with SIGKILL.
   */
  async run(
    script: string,
    args: readonly string[],
    env: Record<string, string> = {},
    { cwd = this.folder, signal, kill }: { cwd?: string; signal?: AbortSignal; kill?: AbortSignal } = {},
  ): Promise<Result> {
    const child = spawn(process.execPath, [script, ...args], {
      cwd,
      // wrangler is large, so it is compiled once for all tests.
      env: { ...process.env, NODE_COMPILE_CACHE: resolve(".wrangler/compile-cache"), ...env },
      stdio: ["ignore", "pipe", "pipe"],
    });
    signal?.addEventListener("abort", () => child.kill());
    kill?.addEventListener("abort", () => child.kill("SIGKILL"));
    const result = { code: 0, stdout: "", stderr: "" };
    child.stdout.setEncoding("utf8").on("data", (text: string) => void (result.stdout += text));
    child.stderr.setEncoding("utf8").on("data", (text: string) => void (result.stderr += text));
    const [code]: unknown[] = await once(child, "close");
    return { ...result, code: Number(code ?? 1) };
  }

  remove(): void {
    rmSync(this.folder, { recursive: true });
  }
}

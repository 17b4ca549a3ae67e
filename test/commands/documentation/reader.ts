import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Result } from "../cloudflare/checkout.ts";

const PRELUDE = join(import.meta.dirname, "reader.sh");

/** A reader who pastes the commands of a page into a shell, one after another. */
export class Reader {
  readonly #folder: string;
  readonly #env: Record<string, string>;
  readonly #state = mkdtempSync(join(tmpdir(), "petstore-reader-"));

  /** @param folder the working directory of the shell. */
  constructor(folder: string, env: Record<string, string>) {
    this.#folder = folder;
    this.#env = { ...env, VARIABLES: join(this.#state, "variables") };
  }

  /**
   * @param input everything that the person types.
   * @param curlOptions for every curl.
   */
  async run(command: string, input = "", curlOptions = "--fail-with-body"): Promise<Result> {
    const child = spawn("bash", ["-c", `. "${PRELUDE}"\nCURL_OPTIONS=${curlOptions}\n${command}`], {
      cwd: this.#folder,
      env: { ...process.env, ...this.#env },
    });
    const result = { code: 0, stdout: "", stderr: "" };
    child.stdout.setEncoding("utf8").on("data", (text: string) => void (result.stdout += text));
    child.stderr.setEncoding("utf8").on("data", (text: string) => void (result.stderr += text));
    // A command that reads no input may have exited already.
    child.stdin.on("error", () => {});
    child.stdin.end(input);
    const [code]: unknown[] = await once(child, "close");
    return { ...result, code: Number(code ?? 1) };
  }

  leave(): void {
    rmSync(this.#state, { recursive: true });
  }
}

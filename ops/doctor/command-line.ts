import { newProgram, runProgram } from "../program.ts";
import { connect } from "../release/cloudflare.ts";
import { targetOptions, type TargetOptions } from "../release/options.ts";
import { readTarget } from "../release/target.ts";
import { table, type Terminal } from "../terminal.ts";
import { oneLine } from "../one-line.ts";
import { CHECKS, type Finding } from "./checks.ts";

/** Runs `npm run doctor`. Returns the exit code. */
export async function run(args: readonly string[], terminal: Terminal): Promise<number> {
  const program = newProgram("npm run doctor --", terminal)
    .description("Says on one page how an environment is. It changes nothing but a key of its own, which it removes.")
    .action(async (options: TargetOptions) => {
      const cloudflare = await connect({ ...terminal, say: () => {} });
      const patient = { cloudflare, target: readTarget(options.env), options, terminal };
      const findings: [name: string, finding: Finding][] = [];
      for (const [name, check] of Object.entries(CHECKS)) {
        // One that cannot look does not hide the others.
        const problem = (error: unknown): Finding => ({ isWrong: true, text: oneLine(error) });
        findings.push([name, await check(patient).catch(problem)]);
      }
      terminal.print(table(findings.map(([name, { isWrong, text }]) => [isWrong ? "WRONG" : "ok", name, text])));
      const wrong = findings.filter(([, { isWrong }]) => isWrong).map(([name]) => name);
      if (wrong.length > 0) throw new Error(`Wrong: ${wrong.join(", ")}. docs/runbook/doctor.md says what to do.`);
    });
  for (const option of targetOptions()) program.addOption(option);
  return runProgram(program, args, terminal);
}

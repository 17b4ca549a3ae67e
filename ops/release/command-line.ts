import { Option } from "commander";
import { newProgram, runProgram } from "../program.ts";
import type { Terminal } from "../terminal.ts";
import { JURISDICTIONS, LOCATIONS } from "./database.ts";
import { promote } from "./change-shares.ts";
import { release, type ReleaseOptions } from "./release.ts";
import { rollback } from "./rollback.ts";
import { targetOptions, type TargetOptions, toCommit, toPercentage, toVersionId } from "./options.ts";

/** Runs `npm run release`. Returns the exit code. */
export async function run(args: readonly string[], terminal: Terminal): Promise<number> {
  const program = newProgram("npm run release --", terminal).description(
    "Migrates the database of an environment, deploys the code of this commit, and tests what is deployed.",
  );
  for (const option of targetOptions()) program.addOption(option);
  program
    .option("--commit <sha>", "Fails unless this is the commit that is checked out.", toCommit)
    .option("--untagged", "Releases to production from a commit without the tag of its version.")
    .option("--skip-checks", "Does not run npm run check.")
    .addOption(new Option("--location <location>", "Where a new database is. It stays there.").choices(LOCATIONS))
    .addOption(
      new Option("--jurisdiction <jurisdiction>", "Which law a new database stays under, instead of a location.")
        .choices(JURISDICTIONS)
        .conflicts("location"),
    )
    .option("--new-database", "Uses the database in wrangler.toml, or a new one, and not that of the Worker.")
    .option("--new-namespace", "Uses the KV namespace in wrangler.toml, or a new one, and not that of the Worker.")
    .addOption(
      new Option("--new-token-secret", "Replaces the secret of customer tokens, which ends all of them.").conflicts(
        "gradual",
      ),
    )
    .option("--force", "Releases a commit that does not descend from the deployed one.")
    .option("--gradual <percent>", "Gives the new version this share of the requests.", toPercentage)
    .addOption(
      new Option("--promote <version id>", "Gives a version of a gradual release all requests.")
        .argParser(toVersionId)
        .conflicts(["commit", "untagged", "skipChecks", "location", "jurisdiction", "force", "gradual"])
        .conflicts(["newDatabase", "newNamespace", "newTokenSecret"]),
    )
    .action((options: ReleaseOptions & { promote?: string }) =>
      options.promote === undefined
        ? release(options, terminal)
        : promote({ ...options, promote: options.promote }, terminal),
    );
  return runProgram(program, args, terminal);
}

/** Runs `npm run rollback`. Returns the exit code. */
export async function runRollback(args: readonly string[], terminal: Terminal): Promise<number> {
  const program = newProgram("npm run rollback --", terminal)
    .description("Gives an earlier version of the code all requests of an environment. The data stays as it is.")
    .option("--to <version id>", "The version. The last good one before the present one unless given.", toVersionId)
    .option("--other-token-secret", "Goes back to another secret of customer tokens too.")
    .action((options: TargetOptions & { to?: string }) => rollback(options, terminal));
  for (const option of targetOptions()) program.addOption(option);
  return runProgram(program, args, terminal);
}

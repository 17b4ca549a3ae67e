import { resolve } from "node:path";
import { type Command, InvalidArgumentError, Option } from "commander";
import type { Environment } from "../../src/auth/key-format.ts";
import { newLocalProgram, toFolder } from "../keys/values.ts";
import { toDuration } from "../duration.ts";
import { oneLine } from "../one-line.ts";
import { refuseOption, runProgram } from "../program.ts";
import { type Clock, PROCESS_CLOCK } from "../clock.ts";
import { type Cloudflare, connect } from "../release/cloudflare.ts";
import { JURISDICTIONS, type Place, toPlace } from "../release/database.ts";
import { SUSTAINED } from "../release/pace.ts";
import { confirmProduction, type Terminal } from "../terminal.ts";
import { Bucket, download, removeOld, upload } from "./bucket.ts";
import { copyDatabase, isFinished } from "./copy.ts";
import { type Database, openDatabase } from "./connection.ts";
import { Interruption } from "../interruption.ts";
import { readManifest } from "./manifest.ts";
import type { RestoreOptions } from "./restore.ts";
import { recordBackup } from "./tables.ts";

interface Options {
  env: Environment;
  persistTo?: string;
  bucket?: string;
  jurisdiction?: string;
}

/** Runs `npm run backup`. Returns the exit code. */
export async function runBackup(args: readonly string[], terminal: Terminal, clock = PROCESS_CLOCK): Promise<number> {
  const program = describe("npm run backup --", terminal)
    .description(
      "Copies the database of an environment into a folder, exact and of one moment, while others change it.",
    )
    .requiredOption("--to <folder>", "Where the backup is written. It has no finished backup yet.", toFolder)
    .option("--bucket <name>", "Copies the backup into this R2 bucket too.", toName)
    .option("--keep <duration>", "Then removes older backups from the bucket (30d). The new one stays.", toDuration)
    .action((options: Options & { to: string; keep?: number }) =>
      withDatabase(options, terminal, clock, async ({ database, bucket, interruption }) => {
        const { to, keep } = options;
        const began = performance.now();
        // An upload that failed is repeated alone.
        const isUpload = bucket !== undefined && isFinished(to);
        if (isUpload) terminal.say(`${to} has a finished backup already. Only its copy into the bucket is made.`);
        else interruption.state = `${to} has no finished backup. Repeat the command: it goes on.`;
        const manifest = isUpload ? readManifest(to).manifest : await copyDatabase(database, resolve(to), terminal);
        const copy = bucket === undefined ? "" : " The bucket may have a part of it: repeat the command.";
        interruption.state = `${to} has a finished backup.${copy}`;
        if (manifest.database !== database.name)
          throw new Error(`${to} has a backup of ${manifest.database}, and not of ${database.name}.`);
        const sayThat = (text: string) => (error: unknown) =>
          terminal.say(`${oneLine(error)} The backup is finished, ${text}`);
        if (bucket !== undefined) await upload(bucket, to, terminal);
        if (bucket !== undefined && keep !== undefined)
          await removeOld(bucket, manifest, keep, terminal).catch(sayThat("and an old one is left."));
        await database.run(recordBackup(manifest.moment.time)).catch(sayThat("but no release will name it."));
        const seconds = ((performance.now() - began) / 1_000).toFixed(0);
        terminal.say(`${to} has ${database.name} as it was at ${manifest.moment.time}, after ${seconds} s.`);
      }),
    );
  return runProgram(program, args, terminal);
}

/** Runs `npm run restore`. Returns the exit code. */
export async function runRestore(args: readonly string[], terminal: Terminal, clock = PROCESS_CLOCK): Promise<number> {
  const program = describe("npm run restore --", terminal)
    .description("Replaces the database of an environment by a backup. The service must not serve it meanwhile.")
    .requiredOption("--from <folder>", "The folder of the backup, or its name in the bucket.", toFolder)
    .option("--bucket <name>", "The R2 bucket that has the backup, under the name in --from.", toName)
    .option("--overwrite <database>", "The name of the database, if it has data that may be replaced.")
    .option("--new-database <place>", "Creates a database there, if the one in wrangler.toml is gone.", toPlace)
    .option("--source <database>", "The name of the database of the backup, if it is another one.")
    .option("--yes", "Changes production without asking.")
    .action((options: Options & RestoreOptions & { from: string; newDatabase?: Place; yes?: true }) =>
      withDatabase(options, terminal, clock, async ({ database, bucket, interruption }) => {
        const path = bucket === undefined ? options.from : toPath(options.from);
        await confirmProduction(options, terminal, `This replaces the data of ${database.name}.`);
        const folder = bucket === undefined ? resolve(path) : resolve("backups", bucket.name, path);
        if (bucket !== undefined) await download(bucket, path, folder, terminal);
        // Loaded here, because it loads wrangler, which a backup does not need.
        const { restoreDatabase } = await import("./restore.ts");
        const restoring = restoreDatabase(database, folder, options, terminal, interruption);
        const { moment, tables } = await restoring.catch((error: unknown) => {
          throw interruption.explain(error);
        });
        if ((tables["webhooks"]?.rows ?? 0) > 0)
          terminal.say("Every webhook is disabled. Before you enable one: docs/runbook/lost-data.md, step 6.");
        terminal.say(
          `${database.name} is as it was at ${moment.time}. Every cursor of the feed from before has expired. ` +
            "ETags and idempotency keys since then are void: a client may meet one of them with another meaning.",
        );
      }),
    );
  return runProgram(program, args, terminal);
}

function describe(name: string, terminal: Terminal): Command {
  return newLocalProgram(name, terminal)
    .addOption(
      new Option("--jurisdiction <law>", "The law that the bucket is under, if it was created with one.").choices(
        JURISDICTIONS,
      ),
    )
    .hook("preAction", (command) => {
      const { bucket, ...others } = command.opts<Options & { keep?: number }>();
      for (const option of ["keep", "jurisdiction"] as const)
        if (others[option] !== undefined && bucket === undefined) command.error(`--${option} is for --bucket.`);
    });
}

/** What a command works with. The bucket is that of --bucket. */
interface Resources {
  database: Database;
  bucket: Bucket | undefined;
  interruption: Interruption;
}

/** Database and bucket share the pace of one account. */
async function withDatabase(
  { env, persistTo, bucket: name, jurisdiction, newDatabase }: Options & { newDatabase?: Place },
  terminal: Terminal,
  clock: Clock,
  use: (resources: Resources) => Promise<void>,
): Promise<void> {
  let account: Promise<Cloudflare> | undefined;
  const connectOnce = () => (account ??= connect(terminal, { clock, share: SUSTAINED }));
  const interruption = new Interruption();
  await interruption.watch(terminal, async () => {
    const bucket = name === undefined ? undefined : new Bucket(await connectOnce(), name, jurisdiction);
    const database = await openDatabase(env, persistTo, connectOnce, terminal, newDatabase);
    try {
      await use({ database, bucket, interruption });
    } finally {
      await database.close();
    }
  });
}

/** The name of a bucket, which is a folder too. */
function toName(value: string): string {
  refuseOption(value);
  if (!/^[a-z0-9][a-z0-9-]*$/.test(value))
    throw new InvalidArgumentError("A bucket has a name of lower-case letters, digits and hyphens.");
  return value;
}

/** The name of a backup in a bucket, which is a folder too, perhaps with a slash at its end. */
function toPath(value: string): string {
  const [, path] = /^(\w[\w.-]*\/\w[\w:.-]*)\/?$/.exec(value) ?? [];
  if (path === undefined) throw new Error(`--from ${value}: a backup in a bucket has the name <database>/<moment>.`);
  return path;
}

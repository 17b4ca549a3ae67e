import { createHash } from "node:crypto";
import { cpSync, existsSync, mkdtempSync, renameSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { copyDatabase } from "../../ops/backup/copy.ts";
import type { Database as Connection, Row } from "../../ops/backup/connection.ts";
import type { Manifest } from "../../ops/backup/manifest.ts";
import { DERIVED_TABLES, OWN_TABLES } from "../../ops/backup/tables.ts";
import type { Clock } from "./clock.ts";
import type { Database } from "./database.ts";
import type { History, Occurrence } from "./history.ts";
import type { Random } from "./random.ts";
import type { Statement } from "./sqlite.ts";

const NAME = "petstore-world";
const HOUR = 3_600_000;
/** How often a program is killed, or a query of it fails, for each query. */
const SHARES = { killed: 0.03, failed: 0.05 };
/** Milliseconds of one way to the database, at most: some backups are over in seconds, and others take hours. */
const WAYS = [2_000, 30_000, 300_000];
/** What a backup may say when others restore the database meanwhile, or the job removes events. */
const EXCUSE = /3 times\. Try again later\.$/;

/** The tables that a restore brings back. It begins the feed anew. */
const TABLES = `SELECT name FROM pragma_table_list WHERE schema = 'main' AND type = 'table' AND name NOT LIKE 'sqlite_%'
  AND name NOT IN ('d1_migrations', 'events', ${[...OWN_TABLES, ...DERIVED_TABLES].map((name) => `'${name}'`).join()}) ORDER BY name`;
const terminal = { print: () => {}, say: () => {}, read: async () => "" };

/** A finished backup. */
interface Backup {
  folder: string;
  /** Of the note of its moment. */
  number: number;
  /** Of the rows of its moment, as SQLite had them. */
  digest: string;
}

/** The parts of the world that backups use. */
export interface Surroundings {
  clock: Clock;
  database: Database;
  history: History;
  /** Kinds of faults that do not happen. */
  calm: ReadonlySet<string>;
  /** Gives a note its number. */
  nextNote: () => number;
}

/** A backup or a restore, which may run more than once. */
interface Run {
  folder: string;
  program: (connection: Connection) => Promise<void>;
  /** Called at each query. */
  onQuery: () => void;
  /** Whether something happened since its first start that a backup may give up for. */
  isDisturbed: () => boolean;
}

class LostConnection extends Error {}

/** The programs of `npm run backup` and `npm run restore`, one at a time. They meet failures and are killed, and are then repeated. */
export class Backups {
  readonly #world: Surroundings;
  readonly #folder = mkdtempSync(join(tmpdir(), "petstore-world-"));
  readonly #finished: Backup[] = [];
  /** What went wrong. */
  readonly failures: string[] = [];
  #begun = 0;
  #isBusy = false;

  constructor(world: Surroundings) {
    this.#world = world;
  }

  get isBusy(): boolean {
    return this.#isBusy;
  }

  /** Whether there is a finished backup. */
  get hasOne(): boolean {
    return this.#finished.length > 0;
  }

  /** Copies the database. */
  async copy(random: Random): Promise<void> {
    const folder = join(this.#folder, String(++this.#begun));
    const { clock, database, history, nextNote } = this.#world;
    /** By their time, which is that of one query only. */
    const moments = new Map<string, { seen: Occurrence; state: number; digest: string }>();
    const begin = history.events.length;
    const isDisturbed = () =>
      history.events.slice(begin).some((event) => event.kind === "occurrence" && event.state !== undefined);
    const onQuery = () => {
      const seen = history.occurred(clock.now, `backup ${folder.split("/").at(-1)} reads state ${database.state}`);
      const time = new Date(Math.floor(clock.now)).toISOString();
      moments.set(time, { seen, state: database.state, digest: digestOf(database) });
    };
    const program = async (connection: Connection) => {
      const { moment } = await copyDatabase(connection, folder, terminal);
      const { seen, state, digest } = moments.get(moment.time) ?? expectMoment(moment);
      const number = nextNote();
      Object.assign(seen, { snapshot: number, noted: state, what: `${seen.what}, which is its moment` });
      this.#finished.push({ folder, number, digest });
    };
    await this.#repeat(random, { folder, program, onQuery, isDisturbed });
  }

  /** Replaces the database by a backup. The service must not use the database until this ends. Returns the number of its note. */
  async restore(random: Random): Promise<number> {
    const { folder, number, digest } = random.pick(this.#finished.slice(-3));
    const program = async (connection: Connection) => {
      // Loaded here, because it loads wrangler.
      const { restoreDatabase } = await import("../../ops/backup/restore.ts");
      await restoreDatabase(connection, folder, { overwrite: NAME }, terminal);
      if (digestOf(this.#world.database) !== digest)
        this.failures.push("The restored rows are not those of the moment of the backup.");
    };
    await this.#repeat(random, { folder, program, onQuery: () => {}, isDisturbed: () => false });
    return number;
  }

  close(): void {
    rmSync(this.#folder, { recursive: true });
  }

  /** Repeats a program until it succeeds, as an operator would. */
  async #repeat(random: Random, run: Run): Promise<void> {
    this.#isBusy = true;
    const way = random.pick(WAYS);
    while (!(await this.#hasEnded(random, way, run))) {
      unlock(run.folder);
      await this.#world.clock.wait(random.delay(1_000, HOUR));
    }
    this.#isBusy = false;
  }

  /** Runs a program. It has not ended when it was killed or lost its connection. */
  async #hasEnded(random: Random, way: number, { program, onQuery, isDisturbed }: Run): Promise<boolean> {
    const { clock } = this.#world;
    // The time of the world stands still while a program works with its files.
    const time = { goesOn: clock.stop() };
    const { promise: isKilled, resolve: kill } = Promise.withResolvers<false>();
    const isOver = program(this.#connect(random, way, time, onQuery, () => kill(false))).then(
      () => true,
      (error: unknown) => {
        if (error instanceof LostConnection) return false;
        const isExcused = EXCUSE.test(String(error)) && isDisturbed();
        if (!isExcused) this.failures.push(`A backup or its restore fails: ${String(error)}`);
        return true;
      },
    );
    const hasEnded = await Promise.race([isOver, isKilled]);
    time.goesOn();
    return hasEnded;
  }

  #connect(
    random: Random,
    way: number,
    time: { goesOn: () => void },
    onQuery: () => void,
    onKill: () => void,
  ): Connection {
    const { clock, database, history, calm } = this.#world;
    const meets = (fault: keyof typeof SHARES) => {
      const kind = `backup ${fault}`;
      const happens = random.chance(SHARES[fault]) && !calm.has(kind);
      if (happens) history.fault(kind);
      return happens;
    };
    const send = async (statements: Statement[]): Promise<Row[][]> => {
      time.goesOn();
      const [isKilled, isFailed, isEarly] = [meets("killed"), meets("failed"), random.chance(0.5)];
      const stop = async (): Promise<void> => {
        if (isKilled) {
          onKill();
          // Its memory is gone.
          await new Promise(() => {});
        }
        if (isFailed) {
          time.goesOn = clock.stop();
          throw new LostConnection();
        }
      };
      await clock.wait(random.delay(1, way));
      if (isEarly) await stop();
      onQuery();
      let { results } = database.onPrimary(statements);
      await clock.wait(random.delay(1, way));
      if (isFailed && !isEarly && random.chance(0.5)) {
        // Its response is lost, and the connection sends it again.
        onQuery();
        ({ results } = database.onPrimary(statements));
      } else if (!isEarly) await stop();
      time.goesOn = clock.stop();
      return results.map(({ rows }) => rows as Row[]);
    };
    return {
      name: NAME,
      run: (statements) => send(statements.map((sql) => ({ sql, values: [] }))),
      async load(sql, parameter) {
        await send([{ sql, values: [parameter] }]);
      },
      close: async () => {},
    };
  }
}

/** Ends the locks of a program that was killed, which is still in this process: it has them on the files from before. */
function unlock(folder: string): void {
  if (!existsSync(folder)) return;
  renameSync(folder, `${folder}-locked`);
  cpSync(`${folder}-locked`, folder, { recursive: true });
  rmSync(`${folder}-locked`, { recursive: true });
}

function digestOf({ primary }: Database): string {
  const hash = createHash("sha256");
  for (const { name: table } of primary.rows(TABLES)) {
    // A restore disables the webhooks. Backups leave out the folds of names.
    const unlike = `WHERE name NOT IN (${table === "webhooks" ? "'enabled', 'version'" : "'folded', 'folded_of'"})`;
    const columns = primary
      .rows(`SELECT name FROM pragma_table_info('${String(table)}') ${unlike}`)
      .map(({ name }) => `quote(${String(name)})`);
    for (const row of primary.rows(`SELECT ${columns.join()} FROM ${String(table)} ORDER BY id`))
      hash.update(Object.values(row).join());
  }
  return hash.digest("hex");
}

function expectMoment({ time }: Manifest["moment"]): never {
  throw new Error(`No query had the time ${time}.`);
}

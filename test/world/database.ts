import { join } from "node:path";
import type { Clock } from "./clock.ts";
import type { Random } from "./random.ts";
import { Instance, mayWrite, type Statement } from "./sqlite.ts";

const MIGRATIONS = join(import.meta.dirname, "../../drizzle");

/** A transaction with changes, or a restore. */
interface Commit {
  time: number;
  seed: number;
  statements: readonly Statement[];
  content?: Uint8Array;
}

/** What an instance did: the state that it saw first and last. A state is a number of commits. */
export interface Execution {
  instance: "primary" | number;
  before: number;
  after: number;
  results: { rows: Record<string, unknown>[]; changes: number }[];
}

/** Milliseconds until a replica has a transaction: mostly short, and sometimes as long as the most. */
const LAG = { least: 3, most: 2_000, spike: 120_000 };
/** Milliseconds from the migrations until a replica has all of them. The first requests of a world come earlier. */
const MIGRATION_LAG = { least: 120_000, most: 240_000 };

class Replica {
  readonly instance = new Instance();
  /** When it applies each commit. */
  readonly times: number[] = [];
  applied = 0;
  lag = LAG.most;
  /** When it has every migration, and what applies those that it lacks until then. */
  migratedAt = 0;
  migrate: (() => void) | undefined;
}

/**
 * The database: a primary and replicas, which apply its transactions in their order, some time later. "A global order of all operations",
 * of which a replica has a prefix (D1 documentation, read replication).
 */
export class Database {
  readonly primary = new Instance();
  readonly #replicas: Replica[];
  readonly #commits: Commit[] = [];
  readonly #clock: Clock;
  readonly #random: Random;

  /** @param late chooses which migrations each replica has at first, and when it has the others. All have all without it. */
  constructor(clock: Clock, random: Random, replicas: number, late?: Random) {
    this.#clock = clock;
    this.#random = random;
    this.#replicas = Array.from({ length: replicas }, () => new Replica());
    this.primary.migrate(MIGRATIONS);
    const all = this.primary.count("SELECT count(*) FROM d1_migrations");
    for (const replica of this.#replicas) {
      replica.migrate = () => replica.instance.migrate(MIGRATIONS);
      if (late === undefined) continue;
      replica.instance.migrate(MIGRATIONS, late.between(0, all - 1));
      replica.migratedAt = clock.now + late.between(MIGRATION_LAG.least, MIGRATION_LAG.most);
    }
    // The migrations are no changes of a row.
    this.#changes = this.primary.totalChanges;
  }

  #changes: number;
  /** Transactions of the primary so far. Each has its own chance, which its replicas repeat. */
  #transactions = 0;
  /** Called after each transaction with changes. */
  onCommit = (): void => {};

  get state(): number {
    return this.#commits.length;
  }

  /** Runs a transaction on the primary. */
  onPrimary(statements: readonly Statement[]): Execution {
    const before = this.state;
    const seed = ++this.#transactions;
    const results = this.primary.run(statements, this.#clock.now, seed);
    const writes = statements.some(mayWrite);
    if (writes) {
      const changes = this.primary.totalChanges;
      if (changes !== this.#changes)
        this.#commit({ time: this.#clock.now, seed, statements: statements.filter(mayWrite) });
      this.#changes = changes;
    }
    return { instance: "primary", before, after: this.state, results };
  }

  /** Runs a transaction that only reads on a replica, with the state that it has. */
  onReplica(index: number, statements: readonly Statement[]): Execution {
    const replica = this.#replicas[index] as Replica;
    this.#catchUp(replica);
    const results = replica.instance.run(statements, this.#clock.now, 0);
    return { instance: index, before: replica.applied, after: replica.applied, results };
  }

  /** Milliseconds until a replica has a state. */
  lagOf(index: number, state: number): number {
    const { times } = this.#replicas[index] as Replica;
    return state === 0 ? 0 : Math.max(0, (times[state - 1] ?? Infinity) - this.#clock.now);
  }

  /** Milliseconds until every replica has the present state. */
  get longestLag(): number {
    return Math.max(0, ...this.#replicas.keys().map((index) => this.lagOf(index, this.state)));
  }

  get replicas(): number {
    return this.#replicas.length;
  }

  /** Lets a replica fall behind, for a while. */
  spike(index: number, isSlow: boolean): void {
    const replica = this.#replicas[index];
    if (replica !== undefined) replica.lag = isSlow ? LAG.spike : LAG.most;
  }

  snapshot(): Uint8Array {
    return this.primary.serialize();
  }

  /** Returns to an earlier content, in place. The order of the transactions goes on. */
  restore(content: Uint8Array): void {
    this.primary.restore(content);
    this.#changes = this.primary.totalChanges;
    this.#commit({ time: this.#clock.now, seed: 0, statements: [], content });
  }

  close(): void {
    for (const instance of this.#instances()) instance.close();
  }

  #instances(): Instance[] {
    return [this.primary, ...this.#replicas.map(({ instance }) => instance)];
  }

  #commit(commit: Commit): void {
    this.#commits.push(commit);
    for (const { times, lag, migratedAt } of this.#replicas) {
      times.push(Math.max(times.at(-1) ?? migratedAt, commit.time + this.#random.delay(LAG.least, lag)));
    }
    this.onCommit();
  }

  #catchUp(replica: Replica): void {
    if (replica.migratedAt <= this.#clock.now) {
      replica.migrate?.();
      replica.migrate = undefined;
    }
    while ((replica.times[replica.applied] ?? Infinity) <= this.#clock.now) {
      const { statements, time, seed, content } = this.#commits[replica.applied++] as Commit;
      if (content === undefined) replica.instance.repeat(statements, time, seed);
      else replica.instance.restore(content);
    }
  }
}

import { oneLine } from "../one-line.ts";
import type { Terminal } from "../terminal.ts";
import { ApiFailure } from "./api.ts";
import { bringsMigration, type Revision } from "./commit.ts";
import type { Survey } from "./survey.ts";

/** A token without permission stays without it. Every other failure of D1 may be the reason of the release. */
const NOT_ALLOWED = [401, 403];

/**
 * D1 in a release. The settings that help a sick database take effect with a release, so a release that brings no migration goes on
 * when D1 fails.
 */
export class OptionalDatabase {
  /** Whether D1 failed, and the release goes on without it. */
  isLost = false;
  readonly #needOf: () => string | undefined;
  readonly #terminal: Terminal;

  /** @param needOf tells why the release cannot go on without D1, as `needOfDatabase` does. */
  constructor(needOf: () => string | undefined, terminal: Terminal) {
    this.#needOf = needOf;
    this.#terminal = terminal;
  }

  /**
   * Takes a step that needs D1.
   *
   * @returns undefined when D1 fails, or failed before.
   * @throws the error of the step, when this release cannot go on without D1.
   */
  async use<Result>(step: () => Promise<Result>): Promise<Result | undefined> {
    if (this.isLost) return undefined;
    try {
      return await step();
    } catch (error) {
      if (!(error instanceof ApiFailure) || NOT_ALLOWED.includes(error.status ?? 0)) throw error;
      const need = this.#needOf();
      if (need !== undefined) throw new Error(`${oneLine(error)} ${need}`, { cause: error });
      this.isLost = true;
      this.#terminal.say(
        `\n${oneLine(error)}\nThis release brings no migration, so it goes on without D1. It has no lease, so another command may come ` +
          "in between. It keeps the database and the KV namespace of the deployed version.",
      );
      return undefined;
    }
  }
}

/** Why a release cannot go on without D1. @param isNew whether it connects the Worker with another database or KV namespace. */
export function needOfDatabase(revision: Revision, { versions, bound, migration }: Survey, isNew: boolean) {
  if (isNew) return "A release with another database or KV namespace needs D1.";
  if (versions.length === 0) return "A first release needs D1.";
  if (bound.database === undefined || bound.namespace === undefined)
    return "The deployed version lacks a database or API keys, so the release needs D1.";
  if (migration !== undefined) return "This release brings a migration of Durable Objects, so it needs D1.";
  const commits = versions.map(({ annotations }) => annotations?.["workers/message"]);
  const brings = bringsMigration(revision, commits);
  if (brings === undefined) return "Nobody can tell whether this release brings a migration, so it needs D1.";
  return brings ? "This release brings a migration, so it needs D1." : undefined;
}

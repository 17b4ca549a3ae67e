import { oneLine } from "../one-line.ts";
import type { Terminal } from "../terminal.ts";
import { ApiFailure } from "./api.ts";
import { bringsMigration, type Revision } from "./commit.ts";
import type { Survey } from "./survey.ts";

/** A token without permission stays without it. Every other failure of D1 may be the reason of the release. */
const NOT_ALLOWED = [401, 403];

const NEED =
  "This release needs D1: it is the first one, it brings a migration or other resources than the deployed ones, or git cannot tell.";

/**
 * D1 in a release. The settings that help a sick database take effect with a release, so a release that brings no migration goes on
 * when D1 fails.
 */
export class OptionalDatabase {
  /** Whether D1 failed, and the release goes on without it. */
  isLost = false;
  readonly #isNeeded: () => boolean;
  readonly #terminal: Terminal;

  /** @param isNeeded tells whether the release cannot go on without D1, as `needsDatabase` does. */
  constructor(isNeeded: () => boolean, terminal: Terminal) {
    this.#isNeeded = isNeeded;
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
      if (this.#isNeeded()) throw new Error(`${oneLine(error)} ${NEED}`, { cause: error });
      this.isLost = true;
      this.#terminal.say(
        `\n${oneLine(error)}\nThis release brings no migration, so it goes on without D1. It has no lease, so another command may come ` +
          "in between. It keeps the database and the KV namespace of the deployed version.",
      );
      return undefined;
    }
  }
}

/** Whether a release cannot go on without D1. @param isNew whether it connects the Worker with another database or KV namespace. */
export function needsDatabase(revision: Revision, { versions, bound, migration }: Survey, isNew: boolean): boolean {
  const keepsAll = versions.length > 0 && bound.database !== undefined && bound.namespace !== undefined && !isNew;
  const commits = versions.map(({ annotations }) => annotations?.["workers/message"]);
  return !keepsAll || migration !== undefined || bringsMigration(revision, commits) !== false;
}

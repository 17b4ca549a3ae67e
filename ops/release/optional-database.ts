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
  readonly #revision: Revision;
  readonly #survey: Survey;
  readonly #newResource: boolean;
  readonly #terminal: Terminal;
  #isLost = false;

  /** @param newResource whether the release connects the Worker with another database or KV namespace. */
  constructor(revision: Revision, survey: Survey, newResource: boolean, terminal: Terminal) {
    this.#revision = revision;
    this.#survey = survey;
    this.#newResource = newResource;
    this.#terminal = terminal;
  }

  /** Whether D1 failed, and the release goes on without it. */
  get isLost(): boolean {
    return this.#isLost;
  }

  /**
   * Takes a step that needs D1.
   *
   * @returns undefined when D1 fails, or failed before.
   * @throws the error of the step, when this release cannot go on without D1.
   */
  async use<Result>(step: () => Promise<Result>): Promise<Result | undefined> {
    if (this.#isLost) return undefined;
    try {
      return await step();
    } catch (error) {
      if (!(error instanceof ApiFailure) || NOT_ALLOWED.includes(error.status ?? 0)) throw error;
      const need = this.#need();
      if (need !== undefined) throw new Error(`${oneLine(error)} ${need}`, { cause: error });
      this.#isLost = true;
      this.#terminal.say(
        `\n${oneLine(error)}\nThis release brings no migration, so it goes on without D1. It has no lease, so another command may come ` +
          "in between. It keeps the database and the KV namespace of the deployed version.",
      );
      return undefined;
    }
  }

  /** Why the release cannot go on without D1. */
  #need(): string | undefined {
    const { versions, bound, migration } = this.#survey;
    if (this.#newResource) return "A release with another database or KV namespace needs D1.";
    if (versions.length === 0) return "A first release needs D1.";
    if (bound.database === undefined || bound.namespace === undefined)
      return "The deployed version lacks a database or API keys, so the release needs D1.";
    if (migration !== undefined) return "This release brings a migration of Durable Objects, so it needs D1.";
    const commits = versions.map(({ annotations }) => annotations?.["workers/message"]);
    const brings = bringsMigration(this.#revision, commits);
    if (brings === undefined) return "Nobody can tell whether this release brings a migration, so it needs D1.";
    return brings ? "This release brings a migration, so it needs D1." : undefined;
  }
}

/** A bug to plant, and the tests that have to find it. */
export interface Mutant {
  bug: string;
  file: string;
  /** Text that is in the file once. */
  was: string;
  becomes: string;
  /** The project of Vitest. */
  project: "workerd" | "built" | "commands" | "world";
  tests: string[];
  /** A part of the names of the tests to run. All tests of the files unless given. */
  name?: string;
}

/** A bug in `src/`, and the tests in workerd that have to find it. */
export const workerd = (bug: string, file: string, was: string, becomes: string, ...tests: string[]): Mutant => ({
  bug,
  file: `src/${file}`,
  was,
  becomes,
  project: "workerd",
  tests: tests.map((test) => `test/${test}.test.ts`),
});

/**
 * A bug in `ops/`, and the tests of the commands that have to find it.
 *
 * @param name of the tests to run. Most of these files take long.
 */
export const command = (
  bug: string,
  file: string,
  was: string,
  becomes: string,
  test: string,
  name?: string,
): Mutant => ({
  bug,
  file: `ops/${file}`,
  was,
  becomes,
  project: "commands",
  tests: [`test/commands/${test}.test.ts`],
  ...(name !== undefined && { name }),
});

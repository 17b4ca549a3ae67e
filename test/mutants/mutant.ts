/** A bug to plant, and the tests that have to find it. */
export interface Mutant {
  bug: string;
  file: string;
  /** Text that is in the file once. */
  was: string;
  becomes: string;
  /** The project of Vitest. */
  project: "workerd" | "built" | "commands" | "load";
  tests: string[];
  /** A part of the names of the tests to run. All tests of the files unless given. */
  name?: string;
}

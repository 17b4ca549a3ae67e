import { readFileSync } from "node:fs";
import { join } from "node:path";

/** A bug to plant, and the tests that have to find it. */
export interface Bug {
  file: string;
  bug: string;
  /** Text that is in the file once. */
  was: string;
  becomes: string;
  /** The project of Vitest. */
  project: string;
  test: string;
  /** A part of the names of the tests to run. All tests of the file unless given. */
  name: string | undefined;
}

const BUG = /^(?<file>\S+): (?<bug>.+) \((?<test>\S+?)(?:: (?<name>.+))?\)\n- (?<was>.+)\n\+ (?<becomes>.*)$/gm;
const OTHER_PROJECT = /^test\/(built|commands|world)\//;

/** The bugs of bugs.txt: those that no mutator of syntax makes. */
export const BUGS: Bug[] = readFileSync(join(import.meta.dirname, "bugs.txt"), "utf8")
  .matchAll(BUG)
  .map(({ groups }) => {
    const { test, ...bug } = groups as unknown as Bug;
    return { ...bug, test: `${test}.test.ts`, project: OTHER_PROJECT.exec(test)?.[1] ?? "workerd" };
  })
  .toArray();

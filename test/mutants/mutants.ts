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
}

const workerd = (bug: string, file: string, was: string, becomes: string, ...tests: string[]): Mutant => ({
  bug,
  file: `src/${file}`,
  was,
  becomes,
  project: "workerd",
  tests: tests.map((test) => `test/${test}.test.ts`),
});

export const MUTANTS: Mutant[] = [
  workerd(
    "the query of a deletion is not checked",
    "http/guard.ts",
    "    refuseUndeclaredParameters(c);\n",
    '    if (c.req.method !== "DELETE") refuseUndeclaredParameters(c);\n',
    "battery/query",
  ),
  workerd(
    "an undeclared name is refused before the scope",
    "http/guard.ts",
    "    if (!key.scopes.includes(scope))",
    "    refuseUndeclaredParameters(c);\n    if (!key.scopes.includes(scope))",
    "battery/query",
  ),
  workerd("a parameter without a name is dropped", "http/query.ts", "/^\\?=|&=/", "/^$/", "battery/query"),
  workerd("a message repeats an API key", "http/query.ts", "{1,40}", "{1,400}", "battery/query"),
  workerd(
    "another path's methods are allowed",
    "http/unmatched.ts",
    "[0][0]?.[0];",
    "[0].at(-1)?.[0];",
    "http/failures",
  ),
  workerd(
    "places that break one rule do not share an entry",
    "http/validation.ts",
    "known.add(place)",
    "new Set([place])",
    "pets/create-pets",
  ),
];

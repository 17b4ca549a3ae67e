import { globSync } from "node:fs";
import { join } from "node:path";

export const ROOT = join(import.meta.dirname, "../..");

/** Every page of the documentation, from the root of the repository. */
export const PAGES = [
  ...["README", "CHANGELOG", "CONTRIBUTING", "SECURITY"].map((name) => `${name}.md`),
  "client/README.md",
  "examples/README.md",
  ...globSync("docs/**/*.md", { cwd: ROOT }).toSorted(),
];

/** The pages that a deployment serves as Markdown, from the root of the repository. */
export const SERVED_PAGES = globSync("public/**/*.md", { cwd: ROOT }).toSorted();

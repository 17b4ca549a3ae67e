import { globSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import type * as Recheck from "recheck";
import type * as TypeScript from "typescript";
import { expect, test } from "vitest";

// recheck computes the worst-case time of a regular expression with automata theory. Its JavaScript build needs no Java.
process.env["RECHECK_BACKEND"] = "pure";

const ROOT = join(import.meta.dirname, "../..");
// From this folder's own packages, because the project's TypeScript exports no parser.
const require = createRequire(import.meta.url);
const recheck = require("recheck") as typeof Recheck;
const typescript = require("typescript") as typeof TypeScript;

/** The regular expressions that the Worker runs, with the place of each. */
const expressions = globSync("src/**/*.ts", { cwd: ROOT }).flatMap((file) => {
  const text = readFileSync(join(ROOT, file), "utf8");
  const source = typescript.createSourceFile(file, text, typescript.ScriptTarget.Latest);
  const found: { place: string; pattern: string; flags: string }[] = [];
  const visit = (node: TypeScript.Node): void => {
    if (typescript.isRegularExpressionLiteral(node)) {
      const { line } = source.getLineAndCharacterOfPosition(node.getStart(source));
      const end = node.text.lastIndexOf("/");
      found.push({ place: `${file}:${line + 1}`, pattern: node.text.slice(1, end), flags: node.text.slice(end + 1) });
    }
    if (typescript.isNewExpression(node)) expect(node.expression.getText(source), file).not.toBe("RegExp");
    node.forEachChild(visit);
  };
  visit(source);
  return found;
});

/** The regular expressions in the document, which generated clients and validators run. */
const published = new Set<string>();
JSON.parse(readFileSync(join(ROOT, "public/openapi.json"), "utf8"), (key, value: unknown) => {
  if (key === "pattern") published.add(String(value));
  return value;
});
for (const pattern of published) expressions.push({ place: "public/openapi.json", pattern, flags: "u" });

test("there are regular expressions to check", () => {
  expect(expressions.length).toBeGreaterThan(10);
  expect(published.size).toBeGreaterThan(10);
});

test.each(expressions)("$place takes linear time: /$pattern/$flags", ({ pattern, flags }) => {
  // "safe" means linear time or better, and "vulnerable" quadratic time or worse.
  expect(recheck.checkSync(pattern, flags).status).toBe("safe");
});

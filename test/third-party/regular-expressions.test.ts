import { spawnSync } from "node:child_process";
import { globSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import fc from "fast-check";
import type * as Recheck from "recheck";
import type * as TypeScript from "typescript";
import { describe, expect, test } from "vitest";
import { NOT_BLANK } from "../../openapi/describe.ts";
import { isName } from "../../src/name.ts";

// recheck computes the worst-case time of a regular expression with automata theory. Its JavaScript build needs no Java.
process.env["RECHECK_BACKEND"] = "pure";

const ROOT = join(import.meta.dirname, "../..");
// From this folder's own packages, because the project's TypeScript exports no parser.
const require = createRequire(import.meta.url);
const recheck = require("recheck") as typeof Recheck;
const typescript = require("typescript") as typeof TypeScript;

/** Has sets of characters, which recheck cannot read. test/built/linear-time.test.ts measures these expressions. */
const WITH_SETS = join("src", "pets", "fold.ts");
/** The regular expressions that the Worker runs, with the place of each. */
const expressions = globSync("src/**/*.ts", { cwd: ROOT, exclude: [WITH_SETS] }).flatMap((file) => {
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
  // Counts steps. By default it also measures time, and takes a busy machine for a slow expression.
  const steps = { timeout: null, attackTimeout: null, incubationTimeout: null };
  expect(recheck.checkSync(pattern, flags, steps)).toMatchObject({ status: "safe" });
});

/** Prints the texts that a pattern does not match as a whole. */
const WHOLE_MATCHES = `
import json, re, sys
asked = json.load(sys.stdin)
for text in asked["texts"]:
    if not re.fullmatch(asked["pattern"], text):
        print(repr(text))
`;

describe("the published expressions accept in other engines what the service accepts", () => {
  // PCRE counts U+180E as white space, as Unicode did until version 6.3, and Python four separators.
  // oxlint-disable-next-line no-control-regex
  const VISIBLE = /[^\s\x1c-\x1f\u180e]/;
  const name = fc.string({ unit: "binary", maxLength: 6 }).filter((text) => isName(text) && VISIBLE.test(text));
  const texts = Object.fromEntries(
    [...published].map((pattern) => [
      pattern,
      // What JavaScript matches. Of a name, the service accepts less.
      fc.sample(pattern === NOT_BLANK ? name : fc.stringMatching(new RegExp(pattern, "u")), 200),
    ]),
  );

  test("there are names to check", () => expect(texts[NOT_BLANK]).toHaveLength(200));

  test("in RE2, the engine of Go", () => {
    const program = spawnSync("go", ["run", "patterns.go"], {
      cwd: import.meta.dirname,
      input: JSON.stringify(texts),
      encoding: "utf8",
    });
    expect(`${program.stdout}${program.stderr}`).toBe("");
    expect(program.status).toBe(0);
  });

  // Generated Python matches from the start of a text, and generated Java a whole text.
  test("in Python, names as a whole", () => {
    const program = spawnSync("python3", ["-c", WHOLE_MATCHES], {
      input: JSON.stringify({ pattern: NOT_BLANK, texts: [...(texts[NOT_BLANK] ?? []), " Gil", "\nGil", "Gil\n"] }),
      encoding: "utf8",
    });
    expect(`${program.stdout}${program.stderr}`).toBe("");
  });

  // PHP matches bytes, or with its modifier `u` UTF-8 by the properties of Unicode.
  describe.each([
    ["bytes", "C", ""],
    ["characters", "C.UTF-8", "(*UCP)"],
  ])("in PCRE2, the engine of PHP and of grep -P, by %s", (_, locale, options) => {
    test.each(Object.entries(texts))("/%s/", (pattern, candidates) => {
      // grep separates texts by NUL.
      const input = candidates.filter((text) => !text.includes("\0")).join("\0");
      const grep = spawnSync("grep", ["--null-data", "--text", "--invert-match", "-P", "-e", options + pattern], {
        input,
        encoding: "utf8",
        env: { ...process.env, LC_ALL: locale },
      });
      expect(grep.stderr).toBe("");
      expect(grep.stdout).toBe("");
      // No text is left.
      expect(grep.status).toBe(1);
    });
  });
});

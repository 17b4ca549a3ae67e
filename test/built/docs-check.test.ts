import { globSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, expect, test } from "vitest";
import clientPackage from "../../client/package.json" with { type: "json" };
import { defaultPolicy } from "../../client/src/retry.ts";
import { GUIDES, sourceOf } from "../../openapi/sources.ts";
import { findFaults } from "../../scripts/docs/check.ts";
import packageJson from "../../package.json" with { type: "json" };
import { withTables } from "../../scripts/docs/generated.ts";
import { findPromiseFaults } from "../../scripts/docs/promises.ts";
import { temporaryFolder } from "./folder.ts";

const root = temporaryFolder();
beforeAll(() => {
  writeFileSync(join(root, "served.html"), "");
  writeFileSync(join(root, "other.md"), "# Other page\n\n## What's `new`?\n\n## Twice\n\n## Twice\n");
});

const TABLES = { numbers: () => "| 1 | 2 |" };

function faultsOf(text: string): string[] {
  writeFileSync(join(root, "page.md"), text);
  return findFaults(root, "page.md", TABLES);
}

test("a correct page has no faults", () => {
  expect(
    faultsOf("# Page\n\n<!-- generated: numbers -->\n\n| 1 | 2 |\n\n<!-- end -->\n\n[Up](#page), [other](other.md).\n"),
  ).toEqual([]);
});

test("a stale table is found and rewritten", () => {
  const stale = "Before\n<!-- generated: numbers -->\n| 1 | 3 |\n<!-- end -->\nAfter\n";
  expect(faultsOf(stale)).toEqual(["page.md is stale. Run npm run generate:docs."]);
  const written = withTables(stale, TABLES);
  expect(written).toBe("Before\n<!-- generated: numbers -->\n\n| 1 | 2 |\n\n<!-- end -->\nAfter\n");
  expect(faultsOf(written)).toEqual([]);
});

test("a number that is not in the code that it links to is found", () => {
  writeFileSync(
    join(root, "limits.ts"),
    "export const LIMIT = 64 * 1_024;\nexport const PAUSE_MILLISECONDS = 2_000;\n",
  );
  expect(faultsOf("At most [64](limits.ts) KiB, [1,024](limits.ts) bytes each, after [2 seconds](limits.ts).")).toEqual(
    [],
  );
  expect(faultsOf("At most [640](limits.ts) KiB, after [20 seconds](limits.ts).")).toEqual([
    "page.md says 640, which is not in limits.ts.",
    "page.md says 20, which is not in limits.ts.",
  ]);
});

test.each(["four languages", "5 tables", "two more guides", "Left out"])("%s has to come from the code", (words) => {
  expect(faultsOf(`There are ${words}.`)).toEqual([`page.md says "${words}". Let the code say it, or do not say it.`]);
});

const TABLE_NAMES = globSync("src/*/table.ts").flatMap((file) =>
  [...readFileSync(file, "utf8").matchAll(/sqliteTable\(\s*"(\w+)"/g)].map(([, name]) => `\`${name}\``),
);
const STANDARDS = globSync("src/**/*.ts").flatMap((file) => {
  const named = readFileSync(file, "utf8").match(/\bRFC \d+|\bdraft-ietf-[\w-]+/g) ?? [];
  return named.length === 0 ? [] : [`(../${file})`, ...named];
});
const POLICY = Object.entries(defaultPolicy()).map(
  ([name, value]) => `${name}: ${value.toLocaleString("en").replaceAll(",", "_").replace("∞", "Infinity")}`,
);

test.each([
  ["README.md", Object.keys(GUIDES).map((guide) => `(${sourceOf(guide)})`)],
  ["docs/operations.md", TABLE_NAMES],
  ["docs/storage.md", TABLE_NAMES.map((name) => `| ${name} `)],
  ["docs/standards.md", STANDARDS],
  ["CONTRIBUTING.md", Object.keys(packageJson.scripts).filter((script) => script !== "postinstall")],
  ["client/README.md", [`petstore-client-${clientPackage.version}.tgz`, `retry: { ${POLICY.join(", ")} }`]],
])("%s names everything of its kind", (page, names) => {
  expect(names.length).toBeGreaterThan(1);
  const text = readFileSync(page, "utf8").replaceAll(/\s+/g, " ");
  expect(names.filter((name) => !text.includes(name))).toEqual([]);
});

test("links lead somewhere, or out of the repository, and what is in code is none", () => {
  const good = "other.md ./other.md#other-page other.md#whats-new other.md#twice-1 /other.md /served";
  const outside = "https://example.com/nothing.md#nowhere mailto:nobody@example.com";
  const text = `${good} ${outside}`.split(" ").map((link) => `[A link](${link})`);
  expect(faultsOf(`${text.join("\n")} \`[A link](nothing.md)\`\n\n\`\`\`md\n[A link](nothing.md)\n\`\`\`\n`)).toEqual(
    [],
  );
  const broken = "nothing.md other.md#nothing other.md#Twice #nothing /nothing other ../other.md".split(" ");
  for (const link of broken)
    for (const written of [`[A link](${link})`, `- ![An image](${link})`, `[A link][1]\n\n[1]: ${link}`])
      expect(faultsOf(written)).toEqual([`page.md: the link to ${link} leads nowhere.`]);
});

test("an unknown npm script is found in prose and in code", () => {
  const text =
    "Run `npm run check`, `npm run chek` and `npm run keys -- list`.\n\n```sh\nnpm run --silent kees -- list\n```\n";
  expect(faultsOf(text)).toEqual(["page.md: there is no script chek.", "page.md: there is no script kees."]);
});

test("each promise has a test, each test a promise, and each item of a list of promises a mark", () => {
  const page = "- Kept. <!-- promise: kept -->\n- Choose. <!-- advice -->\n";
  const file = '// Promise: kept\ntest("a test", () => {});\n';
  expect(findPromiseFaults({ "a.md": page }, { "a.test.ts": file })).toEqual([]);
  const more =
    "- Lost. <!-- promise: lost -->\n- More.\n- Said. <!-- advice --> More.\n\nKept. <!-- promise: kept -->\n";
  const faulty = `${file}// Promise: lost\n\n// Promise: other\ntest();`;
  expect(findPromiseFaults({ "a.md": page + more }, { "a.test.ts": faulty })).toEqual([
    "a.md: no test names the promise lost.",
    "a.md: kept is another promise.",
    "a.test.ts: no page has the promise other.",
    "a.md: an item in a list of promises has no mark: - More.",
    expect.stringMatching(/^a\.md: an item in a list of promises has no mark: - Said/),
  ]);
});

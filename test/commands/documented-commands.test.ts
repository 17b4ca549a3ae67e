import { readFileSync } from "node:fs";
import { afterAll, beforeAll, expect, test } from "vitest";
import { PAGES } from "../../scripts/docs/pages.ts";
import packageJson from "../../package.json" with { type: "json" };
import { Checkout } from "./cloudflare/checkout.ts";
import { startService } from "./cloudflare/service.ts";
import { Operator } from "./documentation/account.ts";
import { isForClients, isNotFaked, isTestedElsewhere, SET_UP } from "./documentation/kinds.ts";
import { readPage } from "./documentation/page.ts";
import { PERMISSIONS, usedPermissions } from "./documentation/permissions.ts";
import { AFTER, BEFORE } from "./documentation/stages.ts";

// Runs every command of the documentation in a copy of the repository, against a fake Cloudflare account.
// documented-requests.test.ts runs the pages for clients. A command of wrangler has the permissions of the list in docs/operations.md, and
// uses all of them, if the fake has what it shows. tokens.test.ts tests those of the commands of this project.

const SECTIONS = PAGES.flatMap((path) => {
  const page = readPage(path);
  if (isForClients(page)) return [];
  return page.sections.map(({ heading, commands }) => ({
    name: `${path}, ${heading}`,
    page,
    commands: commands.filter((command) => !isTestedElsewhere(command)),
  }));
}).filter(({ commands }) => commands.length > 0);

/** Wrangler's own commands with their permissions. */
const ROWS = [...PERMISSIONS].filter(([command]) => command.startsWith("npx wrangler "));
const TEXTS = SECTIONS.flatMap(({ commands }) => commands.map(({ text }) => text));
/** Those that no section has. */
const OTHERS = {
  name: "docs/operations.md, the rest of the table",
  page: readPage("docs/operations.md"),
  commands: ROWS.filter(([row]) => !TEXTS.some((text) => text.includes(row))).map(([row]) => ({
    text: `${row} --env production`,
  })),
};

test("the table of permissions has every command of wrangler", () => {
  const commands = PAGES.flatMap((page) =>
    [...readFileSync(page, "utf8").matchAll(/^ *(npx wrangler (?!login|dev|deploy ).+)/gm)].map(
      ([, text = ""]) => text,
    ),
  );
  expect(commands.length).toBeGreaterThan(20);
  expect(commands.filter((text) => !ROWS.some(([row]) => text.startsWith(row)))).toEqual([]);
});

test("every stage and every promise belongs to a section", () => {
  const names = SECTIONS.map(({ name }) => name);
  expect(names).toEqual(expect.arrayContaining([...Object.keys(BEFORE), ...Object.keys(AFTER)]));
});

test("CI runs the set-up", () => {
  expect(readFileSync(".ci/run", "utf8").split("\n")).toEqual(expect.arrayContaining(SET_UP.slice(0, -1)));
});

test("a key that somebody found is read without echo, and is in no history and no argument", () => {
  const reading = TEXTS.filter((text) => text.includes("--key-from-stdin"));
  expect(reading.length).toBeGreaterThan(1);
  // In a shell of its own, which takes the key with it. On one line, because `read` would take the next one for the key.
  const show = "npm run --silent keys -- show --key-from-stdin --env production";
  for (const text of reading) expect(text).toBe(`(read -rs KEY && printf %s "$KEY" | ${show})`);
});

beforeAll(startService);
/** Those that no section uses. */
const checkouts: Checkout[] = [];
const removals: (() => void)[] = [];
afterAll(() => removals.forEach((remove) => remove()));

/** Commands that only read, and that several sections show, run once. */
const reads = new Set<string>();

test.concurrent.for([...SECTIONS, OTHERS])("$name", async ({ name, page, commands }, { expect, onTestFinished }) => {
  const checkout = checkouts.pop() ?? new Checkout((remove) => removals.push(remove));
  checkout.git("tag", "--force", `v${packageJson.version}`);
  const operator = await Operator.start(checkout);
  onTestFinished(async () => {
    await operator.stop();
    checkout.git("reset", "--quiet", "--hard");
    checkout.git("clean", "-ffdxq", ...["node_modules", "public", ".dist"].map((name) => `--exclude=/${name}`));
    checkouts.push(checkout);
  });
  await BEFORE[name]?.(operator);
  for (const { text } of commands) {
    const permissions = ROWS.find(([row]) => text.includes(row))?.[1];
    if (reads.has(text)) continue;
    if (permissions?.every((permission) => permission.endsWith(": Read"))) reads.add(text);
    operator.api.rights = permissions;
    operator.api.usedRights.clear();
    const { code, stdout, stderr } = await operator.run(text);
    expect.soft(code, `$ ${text}\n${stdout}${stderr}`).toBe(0);
    if (permissions !== undefined && !isNotFaked(text))
      expect.soft(usedPermissions(operator.api), `$ ${text}`).toEqual(new Set(permissions));
  }
  await AFTER[name]?.(operator);
  if (operator.api.requests.length > 0) expect(page.text, "The page has to say").toMatch(/\bneeds? an account\b/);
});

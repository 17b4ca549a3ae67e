import { expect, onTestFinished, test } from "vitest";
import { PAGES } from "../../scripts/docs/pages.ts";
import { Operator } from "./documentation/account.ts";
import { type Command, readPage, type Section } from "./documentation/page.ts";
import { isForClients, isTestedElsewhere } from "./documentation/kinds.ts";

// Runs every command of every block of the documentation, section by section, on a copy of the repository and with a fake of
// Cloudflare's account. documented-tours.test.ts runs the pages for clients.

const SECTIONS = PAGES.flatMap((path) => {
  const page = readPage(path);
  if (isForClients(page)) return [];
  return page.sections.map((section) => ({ path, page, ...section, name: `${path}, ${section.heading}` }));
}).filter(({ commands }) => !commands.every(isTestedElsewhere));

/** Makes an account as a section expects it. */
const BEFORE: { [section: string]: (operator: Operator) => void } = {};

/** Compares an account with the promises of a section. */
const AFTER: { [section: string]: (operator: Operator) => void } = {};

test("every preparation belongs to a section", () => {
  const names = SECTIONS.map(({ name }) => name);
  expect(names).toEqual(expect.arrayContaining([...Object.keys(BEFORE), ...Object.keys(AFTER)]));
});

test.each(SECTIONS)("$name", async ({ name, page, commands }) => {
  const operator = await Operator.start();
  onTestFinished(() => operator.stop());
  BEFORE[name]?.(operator);
  for (const { text } of commands) {
    const before = performance.now();
    const { code, stdout, stderr } = await operator.run(text);
    console.log(`$ ${text}\n${code} ${Math.round(performance.now() - before)} ms\n${stdout}\n${stderr}`);
    expect.soft(code, `$ ${text}\n${stdout}${stderr}`).toBe(0);
  }
  AFTER[name]?.(operator);
  if (operator.api.requests.length > 0) expect(page.text).toMatch(/\bneeds? an account\b/);
});

import { execFileSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { expect, test } from "vitest";
import packageJson from "../../package.json" with { type: "json" };
import { PAGES } from "../../scripts/docs/pages.ts";
import { runWrangler } from "../../scripts/wrangler.ts";
import { readPage } from "./documentation/page.ts";

// The commands between the words of the documentation name scripts, options, environments and files that exist. Those in blocks
// run: documented-commands.test.ts.

const SCRIPTS: { [name: string]: string } = packageJson.scripts;
const NAMED = new Map(
  [...PAGES, "bench/results.md"].flatMap((page) => readPage(page).inline.map((text) => [text, page])),
);
const COMMANDS = [...NAMED].map(([text, page]) => ({ page, text, words: text.split(/ +(?![^<]*>)/) }));
const OF_WRANGLER = COMMANDS.filter(({ text }) => /^(?:npx )?wrangler /.test(text));
const OF_SCRIPTS = COMMANDS.filter(({ text }) => /^npm run ./.test(text));
/** npm's own, and git's, which act on the network or on a release. The names of these commands do not change. */
const OTHERS = /^(?:npm (?:ci|install|ls|test|version)|git (?:push|tag))\b/;
/** Scripts with a command line that describes itself. */
const WITH_HELP = /^node scripts\/(?:keys|preview|release|rollback)\.ts$/;

function optionsOf(words: string[]): string[] {
  return words.flatMap((word) => /^--[a-z][\w-]*/.exec(word)?.[0] ?? []);
}

/** A text that has every option of a script: its help, or its source. */
function optionsText(name: string, args: string[]): string {
  const script = SCRIPTS[name] ?? "";
  if (WITH_HELP.test(script)) {
    const [file = ""] = script.split(" ").slice(1);
    const words = args.filter((arg) => /^[a-z]+$/.test(arg)).slice(0, 1);
    return execFileSync(process.execPath, [file, ...words, "--help"], { encoding: "utf8" });
  }
  const file = /^node (\S+)$/.exec(script)?.[1];
  if (file === undefined)
    return execFileSync("sh", ["-c", `PATH=node_modules/.bin:$PATH ${script} --help`], { encoding: "utf8" });
  return readFileSync(file, "utf8").replaceAll(/^ *"?([\w-]+)"?: \{ type: /gm, "--$1 ");
}

test.each(COMMANDS)("$page: $text is of a kind that is checked", ({ text, words }) => {
  const known = [...OF_WRANGLER, ...OF_SCRIPTS].some((command) => command.text === text);
  if (words[0] === "bash" || words[0] === "sh") expect(existsSync(words[1] ?? "")).toBe(true);
  else if (words[0] === "npx") expect(existsSync(`node_modules/.bin/${words[1]}`)).toBe(true);
  else expect(known || OTHERS.test(text) || text === "npm run", text).toBe(true);
});

test.each(COMMANDS.filter(({ words }) => words.includes("--env")))("$page: $text names an environment", ({ words }) => {
  expect(["local", "staging", "production"]).toContain(words[words.indexOf("--env") + 1]);
});

test.each(COMMANDS.filter(({ words }) => words.includes("--prefix")))("$page: $text names a package", ({ words }) => {
  expect(existsSync(`${words[words.indexOf("--prefix") + 1]}/package.json`)).toBe(true);
});

test.each(OF_SCRIPTS)("$page: $text names a script and its options", ({ text, words }) => {
  const [name = "", separator, ...args] = words.filter((word) => word !== "--silent").slice(2);
  expect(SCRIPTS, text).toHaveProperty([name]);
  if (args.length === 0) return expect(separator, text).toBeUndefined();
  const known = optionsText(name, args);
  for (const option of optionsOf(args)) expect(known, text).toMatch(new RegExp(`${option}\\b`));
});

test.each(OF_WRANGLER)("$page: $text names a command of wrangler and its options", async ({ text, words }) => {
  const options = words.findIndex((word) => word.startsWith("--"));
  const names = words.slice(words.indexOf("wrangler"), options === -1 ? undefined : options);
  const help = await runWrangler([...names.slice(1), "--help"]);
  const [, usage = ""] = /^(wrangler .*)$/m.exec(help) ?? [];
  const fixed = usage.split(/ [<[]/)[0] ?? "";
  const positions = usage.match(/[<[]/g)?.length ?? 0;
  expect(names.join(" ")).toMatch(new RegExp(`^${fixed}(?: \\S+){0,${positions}}$`));
  for (const option of optionsOf(words)) expect(help, text).toMatch(new RegExp(`${option}\\b`));
});

import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { Marked } from "marked";

/** A command of a block of code, as a reader would paste it. */
export interface Command {
  text: string;
  /** Its output, if the page shows it. */
  prints?: string;
}

/** A section of a page under a heading of the second level. The part before the first one has an empty heading. */
export interface Section {
  heading: string;
  commands: Command[];
}

export interface Page {
  text: string;
  sections: Section[];
}

const PLACEHOLDER = /<[a-z][a-z0-9 ]*>/g;
/** Languages that may contain a command and that this reader does not support. */
const UNCLEAR = ["", "bash", "shell", "text", "zsh"];

/**
 * Reads the commands of a page.
 *
 * @throws Error when it is unclear whether a code block holds commands.
 */
export function readPage(path: string): Page {
  const text = readFileSync(path, "utf8");
  const page: Page = { text, sections: [{ heading: "", commands: [] }] };
  const marked = new Marked({
    walkTokens(token) {
      if (token.type === "heading" && token["depth"] <= 2) page.sections.push({ heading: token["text"], commands: [] });
      if (token.type === "code") page.sections.at(-1)?.commands.push(...commandsOf(token["lang"] ?? "", token["text"]));
    },
  });
  marked.parse(text, { async: false });
  return { ...page, sections: page.sections.filter(({ commands }) => commands.length > 0) };
}

function commandsOf(language: string, code: string): Command[] {
  if (UNCLEAR.includes(language)) throw new Error(`A block of code has to be sh, console or no shell:\n${code}`);
  if (language === "sh") return [...split(code)].map((text) => ({ text }));
  if (language !== "console") return [];
  const parts = code.split(/^\$ /m).slice(1);
  return parts.map((part) => {
    const text = split(part).next().value ?? "";
    return { text, prints: part.slice(text.length).trim() };
  });
}

/** Yields each complete command of a script. */
function* split(script: string): Generator<string, undefined> {
  let open = "";
  for (const line of script.split("\n")) {
    open += open === "" ? line : `\n${line}`;
    if (open === "" || !isComplete(open)) continue;
    yield open;
    open = "";
  }
  if (open !== "") throw new Error(`This command is incomplete:\n${open}`);
}

function isComplete(command: string): boolean {
  // To a shell, `<version id>` is a redirection.
  const text = command.replaceAll(PLACEHOLDER, "placeholder");
  return !text.endsWith("\\") && spawnSync("bash", ["-n", "-c", text]).status === 0;
}

// Blocks of code for the pages: coloured when they are built, and commands apart from what they print.
import { createCssVariablesTheme, createHighlighter } from "shiki";
import { createJavaScriptRegexEngine } from "shiki/engine/javascript";

/** page.css has the values of the variables, for both modes. */
const theme = createCssVariablesTheme({ name: "page", variablePrefix: "--code-", fontStyle: false });
const highlighter = await createHighlighter({
  themes: [theme],
  langs: ["html", "js", "json", "python", "sh", "sql", "toml", "ts"],
  engine: createJavaScriptRegexEngine(),
});

/** Commands, and what the last of them prints. A reader copies the commands only. */
interface Exchange {
  commands: string;
  output: string;
}

/**
 * The exchanges of a block in the language `console`. A command follows a prompt, and goes on after a backslash at the end of its line.
 */
export function exchangesOf(session: string): Exchange[] {
  const [, ...parts] = session.split(/((?:^\$ (?:.*\\\n)*.*(?:\n|$))+)/m);
  return parts.flatMap((part, index) =>
    index % 2 === 0
      ? [{ commands: part.replaceAll(/^\$ /gm, "").trimEnd(), output: (parts[index + 1] ?? "").trimEnd() }]
      : [],
  );
}

/**
 * A block of code as HTML.
 *
 * @throws Error for a language that is not one of those above.
 */
export function codeBlock(language: string, code: string): string {
  if (language !== "console") return coloured(language, code);
  return exchangesOf(code)
    .map(({ commands, output }) => {
      const printed = output === "" ? "" : coloured("text", output).replace("<pre", '<pre class="output"');
      return coloured("sh", commands) + printed;
    })
    .join("");
}

function coloured(lang: string, code: string): string {
  return highlighter.codeToHtml(code, {
    lang,
    theme: "page",
    transformers: [
      {
        pre: (node) => void (node.properties = {}),
        // What is too long for its line goes on below, further to the right than its line.
        line(node, number) {
          const [indent = ""] = /^ */.exec(this.source.split("\n")[number - 1] ?? "") ?? [];
          node.properties["style"] = `--indent:${indent.length + 2}ch`;
        },
      },
    ],
  });
}

import { readFileSync, writeFileSync } from "node:fs";
import { parseArgs } from "node:util";

const BEGIN = "<!-- transcript -->";
const END = "<!-- end of transcript -->";

/**
 * Writes a transcript into its page. With --check on the command line, it fails when the page has another one.
 *
 * @param comparable replaces everything that differs from run to run.
 */
export function putTranscript(page: string, text: string, comparable = (text: string) => text): void {
  // The formatter takes no white space at the end of a line.
  const lines = text.trim().replaceAll(/ +$/gm, "");
  const before = readFileSync(page, "utf8");
  const [head] = before.split(BEGIN);
  const [, tail] = before.split(END);
  const after = `${head}${BEGIN}\n\n\`\`\`console\n${lines}\n\`\`\`\n\n${END}${tail}`;
  if (!parseArgs({ options: { check: { type: "boolean", default: false } } }).values.check) {
    writeFileSync(page, after);
  } else if (comparable(after) !== comparable(before)) {
    console.error(`The transcript of ${page} is stale. Run npm run generate:transcript.`);
    process.exitCode = 1;
  }
}

import { readFileSync, writeFileSync } from "node:fs";

const BEGIN = "<!-- transcript -->";
const END = "<!-- end of transcript -->";

/** Replaces the transcript of a page. */
export function writeTranscript(page: string, text: string): void {
  // The formatter takes no white space at the end of a line.
  const lines = text.trim().replaceAll(/ +$/gm, "");
  const before = readFileSync(page, "utf8");
  const [head] = before.split(BEGIN);
  const [, tail] = before.split(END);
  writeFileSync(page, `${head}${BEGIN}\n\n\`\`\`console\n${lines}\n\`\`\`\n\n${END}${tail}`);
}

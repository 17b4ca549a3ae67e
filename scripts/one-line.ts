/** What an error says, on one line: our own words, or the error in what wrangler printed. */
export function oneLine(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  // oxlint-disable-next-line no-control-regex -- the escape that starts a colour
  const plain = error.message.replace(/\u001b\[[\d;]*m/g, "");
  // Of a refused request, wrangler tells the reason in a paragraph of its own.
  const [, reported, reason] = /\[ERROR\]\s*(.+)(?:\n\n {2}(.+\[code: \d+\]))?/.exec(plain) ?? [];
  return [reported ?? plain.split("\n")[0], reason].join(" ").trim();
}

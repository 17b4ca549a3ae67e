import { adviceOnWrangler } from "./advice.ts";

/** The message of an error on one line: this project's own, or the error in wrangler's output with what to do about it. */
export function oneLine(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  // fetch hides the reason in a cause, which may be several failures without a message.
  if (error.message === "fetch failed" && error.cause instanceof Error) {
    const { message, code = "" } = error.cause as NodeJS.ErrnoException;
    return message || code;
  }
  // oxlint-disable-next-line no-control-regex -- the escape that starts a colour
  const plain = error.message.replace(/\u001b\[[\d;]*m/g, "");
  // wrangler prints the reason of a refused request in a separate paragraph.
  const [, reported, reason] = /\[ERROR\]\s*(.+)(?:\n\n {2}(.+\[code: \d+\]))?/.exec(plain) ?? [];
  // An error of a library that wrangler uses, such as "fetch failed", does not say whose it is.
  const whose = reported !== undefined && /^[a-z]/.test(reported) ? "Wrangler reports:" : "";
  if (reported === undefined) return plain.split("\n")[0] ?? "";
  const told = [whose, reported, reason].join(" ").trim();
  const advice = adviceOnWrangler(plain);
  return advice === undefined ? told : `${told.replace(/[.;]*$/, ".")} ${advice}`;
}

import { type NewKey, type Rotation, statusOf } from "./operations.ts";
import type { ListedKey } from "./store.ts";

/** Where a command writes, and whom it asks. A text is one or more whole lines. */
export interface Terminal {
  /** Standard output: help, a key, a listing, JSON. */
  print(text: string): void;
  /** Standard error: what is said to the person in front of it. */
  say(text: string): void;
  /** Puts a question to that person. Absent where there is none. */
  ask?(question: string): Promise<string>;
}

/** Shows a key this once. The secret goes to standard output, alone or in the JSON; what is said about it goes beside it. */
export function showKey(
  terminal: Terminal,
  json: boolean | undefined,
  { key, stored }: NewKey,
  rotation?: Rotation,
): void {
  const { id, ...rest } = stored.record;
  const old = rotation?.old.record;
  if (json) {
    const replaces = old && { replaces: { id: old.id, expiresAt: old.expiresAt } };
    terminal.print(JSON.stringify({ id, key, ...rest, ...replaces }));
    return;
  }
  const until = rest.expiresAt === undefined ? "never expires" : `expires ${rest.expiresAt}`;
  terminal.say(`${id}: "${rest.name}", ${rest.scopes.join(" ")}, ${until}.`);
  if (old) terminal.say(`${old.id} works until ${old.expiresAt}.`);
  terminal.say("This is the key. It is shown this once; store it now.");
  terminal.print(key);
}

export function showList(terminal: Terminal, json: boolean | undefined, keys: readonly ListedKey[]): void {
  const rows = keys.map(({ name, record }) =>
    record === undefined ? { id: name, status: "corrupt" } : { ...record, status: statusOf(record) },
  );
  if (json) return terminal.print(JSON.stringify(rows));
  if (rows.length === 0) return terminal.print("There are no keys.");
  terminal.print(
    table([
      ["ID", "STATUS", "SCOPES", "CREATED", "EXPIRES", "NAME"],
      ...rows.map((row) =>
        "name" in row
          ? [row.id, row.status, row.scopes.join(" "), seconds(row.createdAt), seconds(row.expiresAt), row.name]
          : [row.id, row.status],
      ),
    ]),
  );
}

function seconds(time: string | undefined): string {
  return time?.slice(0, 19) ?? "never";
}

function table(rows: string[][]): string {
  const widths = rows[0]?.map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0))) ?? [];
  const lines = rows.map((row) => row.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join("  "));
  return lines.map((line) => line.trimEnd()).join("\n");
}

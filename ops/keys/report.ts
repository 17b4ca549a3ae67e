import type { Environment } from "../../src/auth/key-format.ts";
import { RECORD_SECONDS } from "../../src/auth/key-lookup.ts";
import type { KeyRecord } from "../../src/auth/key-record.ts";
import type { Inspection, RelatedKey } from "./inspection.ts";
import { type NewKey, type Revocation, statusOf } from "./operations.ts";
import { table, type Terminal } from "../terminal.ts";
import { replacedRecord, type Rotation } from "./rotation.ts";
import type { ListedKey } from "./store.ts";

/**
 * Shows a key this once. The secret goes to standard output, alone or in the JSON; what is said about it goes beside it.
 *
 * @param remark one line more for a person.
 * @param fields more of the JSON.
 */
export function showKey(
  terminal: Terminal,
  json: boolean | undefined,
  { key, stored }: NewKey,
  remark?: string,
  fields?: { replaces: Partial<KeyRecord>; earlierSuccessors?: Rotation["earlierSuccessors"] },
): void {
  const { id, ...rest } = stored.record;
  if (json) return terminal.print(JSON.stringify({ id, key, ...rest, ...fields }));
  const until = rest.expiresAt === undefined ? "never expires" : `expires ${rest.expiresAt}`;
  terminal.say(`${id}: "${rest.name}", ${rest.scopes.join(" ")}, ${until}.`);
  if (remark !== undefined) terminal.say(remark);
  terminal.say("This is the key. It is shown this once; store it now.");
  terminal.print(key);
}

/** Shows the new key of a rotation, what becomes of the old one, and the keys that earlier rotations created in its place. */
export function showRotation(
  terminal: Terminal,
  { json, env }: { json?: boolean; env: Environment },
  rotation: Rotation,
): void {
  const { successor, old, earlierSuccessors } = rotation;
  const { id, expiresAt: endBefore } = old.record;
  const { expiresAt } = replacedRecord(old.record, rotation);
  for (const earlier of earlierSuccessors) {
    terminal.say(
      earlier.status === "revoked" || earlier.status === "expired"
        ? `${id} was rotated before: ${earlier.id}, which replaced it, is ${earlier.status}.`
        : `${id} was rotated before: ${earlier.id} replaces it as well. ` +
            `If nobody uses ${earlier.id}, revoke it: npm run keys -- revoke ${earlier.id} --env ${env}`,
    );
  }
  const remark = `${id} works until ${expiresAt}${expiresAt === endBefore ? ", the end that it had before" : ""}.`;
  showKey(terminal, json, successor, remark, {
    replaces: { id, ...(expiresAt !== undefined && { expiresAt }) },
    ...(earlierSuccessors.length > 0 && { earlierSuccessors }),
  });
}

export function showRevocation(
  terminal: Terminal,
  { json, env }: { json?: boolean; env: Environment },
  { record: { id, revokedAt }, record, isShown }: Revocation,
): void {
  const delay =
    env === "local"
      ? `A running npm run dev may accept it for another ${RECORD_SECONDS} seconds.`
      : "The service may accept it for another two minutes (docs/managing-keys.md).";
  const report = isShown
    ? `${id} is revoked since ${revokedAt}. ${delay}`
    : `The revocation of ${id} is written, with the time ${revokedAt}. KV does not show it yet. ${delay}`;
  terminal.print(json ? JSON.stringify(record) : report);
  if (record.scopes.includes("webhooks:manage") && env !== "local")
    terminal.say(`Its webhooks deliver on. To find and stop them: npm run webhooks -- list --env ${env}`);
  if (isShown) return;
  if (json) terminal.say(report);
  terminal.say(`Then look at it: npm run keys -- show ${id} --env ${env}`);
  terminal.say("Until it is shown as revoked, do not rotate it.");
}

/** Shows a key to somebody who may not see its secret. */
export function showInspection(
  terminal: Terminal,
  json: boolean | undefined,
  { record, status, predecessor, successors }: Inspection,
): void {
  if (json)
    return terminal.print(JSON.stringify({ ...record, status, ...(predecessor && { predecessor }), successors }));
  const { id, name, scopes, createdAt, expiresAt, givenExpiresAt, revokedAt } = record;
  const given = givenExpiresAt === undefined ? "" : `, before its rotation ${seconds(givenExpiresAt ?? undefined)}`;
  const rows = [
    ["ID", id],
    ["NAME", name],
    ["STATUS", status],
    ["SCOPES", scopes.join(" ")],
    ["CREATED", seconds(createdAt)],
    ["EXPIRES", seconds(expiresAt) + given],
    ...(revokedAt === undefined ? [] : [["REVOKED", seconds(revokedAt)]]),
    ...(predecessor === undefined ? [] : [["REPLACES", withStatus(predecessor)]]),
    ...(successors.length === 0 ? [] : [["REPLACED BY", successors.map(withStatus).join(", ")]]),
    ["REQUESTS", "only the log has them: docs/observability.md, Requests of each key"],
  ];
  terminal.print(table(rows));
}

function withStatus({ id, status }: RelatedKey): string {
  return `${id} (${status})`;
}

/** Characters. */
const TERMINAL_WIDTH = 80;

/** @param now by the clock of the storage, and `none` what to say when there are none. */
export function showList(
  terminal: Terminal,
  json: boolean | undefined,
  keys: readonly ListedKey[],
  now: number,
  none = "There are no keys.",
): void {
  const rows = keys.map(({ name, record }) =>
    record === undefined ? { id: name, status: "corrupt" } : { ...record, status: statusOf(record, now) },
  );
  if (json) return terminal.print(JSON.stringify(rows));
  if (rows.length === 0) return terminal.print(none);
  const lines = table([
    ["ID", "STATUS", "CREATED", "EXPIRES", "NAME"],
    ...rows.map((row) =>
      "name" in row ? [row.id, row.status, day(row.createdAt), day(row.expiresAt), row.name] : [row.id, row.status],
    ),
  ]).split("\n");
  const scopes = ["SCOPES", ...rows.map((row) => ("scopes" in row ? row.scopes.join(" ") : ""))];
  // On a line of their own where they do not fit.
  const width = Math.max(...lines.map((line) => line.length));
  const isNarrow = width + 2 + Math.max(...scopes.map((list) => list.length)) > TERMINAL_WIDTH;
  const whole = lines.map((line, row) =>
    scopes[row] === "" ? line : isNarrow ? `${line}\n  ${scopes[row]}` : `${line.padEnd(width)}  ${scopes[row]}`,
  );
  terminal.print(whole.join("\n"));
}

function day(time: string | undefined): string {
  return time?.slice(0, 10) ?? "never";
}

function seconds(time: string | undefined): string {
  return time?.slice(0, 19) ?? "never";
}

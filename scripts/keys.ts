// npm run keys: creates, lists, revokes and rotates API keys. See HELP.
import { createInterface } from "node:readline/promises";
import { parseArgs } from "node:util";
import { type Environment, generateKey, randomBase62 } from "../src/auth/key-format.ts";
import { type KeyRecord, keyRecordName } from "../src/auth/key-record.ts";
import { SCOPES } from "../src/auth/scopes.ts";
import { KeyStore, type StoredKey } from "./key-store.ts";

const HELP = `Usage: npm run keys -- <command> --env local|staging|production [options]

Commands
  create --name <name>       Creates an API key. The key is shown once, and stored nowhere.
      --scopes <list>        Comma-separated; all of ${SCOPES.join(",")} unless given.
      --expires <when>       A duration from now (90d, 12h, 30m, 45s), or a date (2027-01-31, or with a time in ISO 8601).
                             Never unless given.
  list                       Lists every key that was ever created, with what became of it.
  revoke <id>                Ends a key. It stays in the list.
  rotate <id>                Creates a key with the same name and scopes, and lets the old one end after an overlap.
      --overlap <duration>   How long both work: 24h unless given.
      --expires <when>       When the new key ends, as for create. As far from now as the old one's from its creation, unless given.

Options
  --env <environment>        Required. Staging and production go through wrangler's login (npx wrangler login).
  --json                     Prints one JSON value on standard output, and nothing else there.
  --yes                      Changes keys of production without asking.
  --persist-to <folder>      Where the local state is, as for npm run dev.
  --help                     Prints this.

With npm run --silent, standard output can be piped: the key alone, or the JSON.`;

const MAX_NAME_CHARACTERS = 100;
const UNITS = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/** Which options each command takes beside the common ones. */
const OPTIONS: { [command: string]: string[] } = {
  create: ["name", "scopes", "expires"],
  list: [],
  revoke: [],
  rotate: ["overlap", "expires"],
};
const COMMON_OPTIONS = ["env", "json", "yes", "help", "persist-to"];

/** A mistake of the operator: its message is all there is to say. */
class Mistake extends Error {}

try {
  await main(process.argv.slice(2));
} catch (error) {
  console.error(oneLine(error));
  process.exitCode = 1;
}

async function main(args: string[]): Promise<void> {
  const { values, positionals } = parseArgs({
    args,
    allowPositionals: true,
    options: {
      env: { type: "string" },
      name: { type: "string" },
      scopes: { type: "string" },
      expires: { type: "string" },
      overlap: { type: "string" },
      json: { type: "boolean", default: false },
      yes: { type: "boolean", default: false },
      help: { type: "boolean", default: false },
      "persist-to": { type: "string" },
    },
  });
  const [command, id, ...rest] = positionals;
  if (values.help || command === undefined) return console.log(HELP);
  const environment = toEnvironment(values.env);
  const store = new KeyStore(environment, values["persist-to"]);
  const takesId = command === "revoke" || command === "rotate";
  if (rest.length > 0 || (id !== undefined && !takesId))
    throw new Mistake(`What is ${[id, ...rest].join(" ")}? See --help.`);
  if (takesId && id === undefined)
    throw new Mistake(`Which key? npm run keys -- ${command} <id> (keys list shows the ids).`);

  const inapplicable = Object.keys(values).filter(
    (option) => !OPTIONS[command]?.includes(option) && !COMMON_OPTIONS.includes(option),
  );
  // Flags that were not given stand here as false.
  const given = inapplicable.filter((option) => values[option as keyof typeof values] !== false);
  if (OPTIONS[command] !== undefined && given.length > 0)
    throw new Mistake(`${command} takes no --${given.join(", --")}.`);

  // Everything that can be wrong is looked at before anything is asked, read or written.
  const expires = values.expires === undefined ? undefined : toDate(values.expires);
  const overlap = toDuration(values.overlap ?? "24h", "--overlap takes");
  const confirm = () => confirmProduction(environment, values.yes);

  if (command === "create") {
    const name = toName(values.name);
    const scopes = toScopes(values.scopes);
    await confirm();
    const { key, stored } = await newKey(environment, { name, scopes, expires });
    await put(stored);
    show(values.json, key, stored.record);
  } else if (command === "list") {
    list(values.json, await store.list());
  } else if (command === "revoke") {
    await confirm();
    const { name, record } = await find(store, environment, id);
    const revoked = { ...record, revokedAt: record.revokedAt ?? new Date().toISOString() };
    await store.put({ name, record: revoked });
    // A rotation that read the record before and wrote it after would have taken the revocation back.
    const stored = await store.get(name);
    if (stored?.revokedAt === undefined)
      throw new Mistake(`${record.id} is being changed by somebody else. Revoke it again.`);
    if (values.json) return console.log(JSON.stringify(revoked));
    console.log(`${record.id} is revoked since ${revoked.revokedAt}. ${propagation(environment)}`);
  } else if (command === "rotate") {
    await confirm();
    await rotate(id);
  } else {
    throw new Mistake(`There is no command ${command}. See --help.`);
  }

  async function rotate(oldId: string | undefined): Promise<void> {
    const { name, record } = await find(store, environment, oldId);
    if (statusOf(record) !== "active")
      throw new Mistake(`${record.id} is ${statusOf(record)}; create a new key instead.`);
    const { key, stored } = await newKey(environment, { ...record, expires: expires ?? sameLifetime(record) });
    const end = new Date(Date.now() + overlap).toISOString();
    const { expiresAt = end } = record;
    const ending = { ...record, expiresAt: expiresAt < end ? expiresAt : end };
    await put(stored);
    // From here on the new key works, so it is shown, whatever becomes of the old one.
    show(values.json, key, stored.record, { replaces: { id: ending.id, expiresAt: ending.expiresAt } });
    try {
      if ((await store.get(name))?.revokedAt !== undefined) return;
      await store.put({ name, record: ending });
    } catch (error) {
      throw new Mistake(
        `The new key works, but whether ${ending.id} ends is unknown; look at keys list. ${oneLine(error)}`,
      );
    }
  }

  /** Stores a new key. An answer that got lost may leave a record behind. */
  async function put(stored: StoredKey): Promise<void> {
    try {
      await store.put(stored);
    } catch (error) {
      throw new Mistake(`${oneLine(error)} Nobody has seen ${stored.record.id}; if keys list shows it, revoke it.`);
    }
  }
}

/** An end as far from now as the old key's was from its beginning, if it had one. */
function sameLifetime({ createdAt, expiresAt }: KeyRecord): Date | undefined {
  return expiresAt === undefined ? undefined : new Date(Date.now() + Date.parse(expiresAt) - Date.parse(createdAt));
}

async function newKey(
  environment: Environment,
  { name, scopes, expires }: { name: string; scopes: readonly string[]; expires: Date | undefined },
): Promise<{ key: string; stored: StoredKey }> {
  const key = generateKey(environment);
  const record: KeyRecord = {
    id: `key_${randomBase62(12)}`,
    name,
    scopes: [...scopes],
    createdAt: new Date().toISOString(),
    ...(expires === undefined ? {} : { expiresAt: expires.toISOString() }),
  };
  return { key, stored: { name: await keyRecordName(key), record } };
}

async function find(store: KeyStore, environment: Environment, id: string | undefined): Promise<StoredKey> {
  const found = (await store.list()).find(({ record }) => record?.id === id);
  // The listing may lag behind, and its copy of the record is not what the service reads.
  const record = found && (await store.get(found.name));
  if (found === undefined || record === undefined) {
    throw new Mistake(`There is no key ${id} in ${environment}. keys list shows those there are.`);
  }
  return { name: found.name, record };
}

/** The secret goes to standard output, alone or in the JSON; what is said about it goes beside it. */
function show(json: boolean, key: string, record: KeyRecord, more: { replaces?: Partial<KeyRecord> } = {}): void {
  const { id, ...rest } = record;
  if (json) return console.log(JSON.stringify({ id, key, ...rest, ...more }));
  const until = record.expiresAt === undefined ? "never expires" : `expires ${record.expiresAt}`;
  console.error(`${record.id}: "${record.name}", ${record.scopes.join(" ")}, ${until}.`);
  if (more.replaces) console.error(`${more.replaces.id} works until ${more.replaces.expiresAt}.`);
  console.error("This is the key. It is shown this once; store it now.");
  console.log(key);
}

function list(json: boolean, keys: Awaited<ReturnType<KeyStore["list"]>>): void {
  const rows = keys.map(({ name, record }) =>
    record === undefined ? { id: name, status: "corrupt" } : { ...record, status: statusOf(record) },
  );
  if (json) return console.log(JSON.stringify(rows));
  if (rows.length === 0) return console.log("There are no keys.");
  const table = [
    ["ID", "STATUS", "SCOPES", "CREATED", "EXPIRES", "NAME"],
    ...rows.map((row) =>
      "name" in row
        ? [
            row.id,
            row.status,
            row.scopes.join(" "),
            row.createdAt.slice(0, 19),
            row.expiresAt?.slice(0, 19) ?? "never",
            row.name,
          ]
        : [row.id, row.status],
    ),
  ];
  const widths = table[0]?.map((_, column) => Math.max(...table.map((row) => row[column]?.length ?? 0))) ?? [];
  for (const row of table)
    console.log(
      row
        .map((cell, column) => cell.padEnd(widths[column] ?? 0))
        .join("  ")
        .trimEnd(),
    );
}

function statusOf({ expiresAt, revokedAt }: KeyRecord): "active" | "expired" | "revoked" {
  if (revokedAt !== undefined) return "revoked";
  return expiresAt !== undefined && Date.parse(expiresAt) <= Date.now() ? "expired" : "active";
}

function propagation(environment: Environment): string {
  return environment === "local"
    ? "A running npm run dev may accept it for another 30 seconds."
    : "The service may accept it for another two minutes (docs/keys.md).";
}

function toEnvironment(value: string | undefined): Environment {
  if (value === "local" || value === "staging" || value === "production") return value;
  throw new Mistake("Which environment? --env local, staging or production.");
}

function toName(value: string | undefined): string {
  if (value === undefined || !/\S/.test(value) || value.length > MAX_NAME_CHARACTERS || /\p{C}/u.test(value)) {
    throw new Mistake(`Whose key is it? --name takes 1 to ${MAX_NAME_CHARACTERS} printable characters.`);
  }
  return value;
}

function toScopes(value: string | undefined): readonly string[] {
  if (value === undefined) return SCOPES;
  const scopes = value.split(",").map((scope) => scope.trim());
  const unknown = scopes.filter((scope) => !SCOPES.some((known) => known === scope));
  if (unknown.length > 0)
    throw new Mistake(`There is no scope ${unknown.join(", ")}. The scopes are ${SCOPES.join(", ")}.`);
  return [...new Set(scopes)];
}

/** Milliseconds. */
function toDuration(value: string, rule: string): number {
  const [, count, unit] = /^(\d{1,6})([smhd])$/.exec(value) ?? [];
  if (count === undefined || unit === undefined) throw new Mistake(`${rule} a duration: 90d, 12h, 30m or 45s.`);
  return Number(count) * UNITS[unit as keyof typeof UNITS];
}

function toDate(value: string): Date {
  const [, day] =
    /^(\d{4}-\d{2}-\d{2})(?:T\d{2}:\d{2}(?::\d{2}(?:\.\d{1,3})?)?(?:Z|[+-]\d{2}:\d{2}))?$/.exec(value) ?? [];
  const date = new Date(
    day === undefined ? Date.now() + toDuration(value, "--expires takes a date (2027-01-31) or") : value,
  );
  // Date takes the 31st of any month for a day of the next.
  const exists = day === undefined || new Date(`${day}T00:00:00Z`).toJSON()?.startsWith(day);
  if (Number.isNaN(date.getTime()) || !exists || date.getUTCFullYear() > 9999)
    throw new Mistake(`There is no date ${value}.`);
  if (date.getTime() <= Date.now()) throw new Mistake(`${value} is in the past.`);
  return date;
}

async function confirmProduction(environment: Environment, yes: boolean): Promise<void> {
  if (environment !== "production" || yes) return;
  if (!process.stdin.isTTY) throw new Mistake("This changes keys of production. Say --yes.");
  const prompt = createInterface({ input: process.stdin, output: process.stderr });
  const answer = await prompt.question("This changes keys of production. Type production to go on: ");
  prompt.close();
  if (answer !== "production") throw new Mistake("Nothing was changed.");
}

/** What went wrong, on one line: our own words, or the error in what wrangler printed. */
function oneLine(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  // oxlint-disable-next-line no-control-regex -- the escape that starts a colour
  const plain = error.message.replace(/\u001b\[[\d;]*m/g, "");
  const [, reported] = /\[ERROR\]\s*(.+)/.exec(plain) ?? [];
  return `${reported ?? plain.split("\n")[0]}`.trim();
}

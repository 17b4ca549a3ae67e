// The parts of the documentation that are generated from the OpenAPI document, the routes, the client, the examples, and constants
// of src/.
import { readFileSync } from "node:fs";
import { join, relative } from "node:path";
import { getTableColumns } from "drizzle-orm";
import { PetStore } from "../../client/src/index.ts";
import { document } from "../../openapi/document.ts";
import { WHEN } from "../../openapi/errors.ts";
import { type ErrorCode, ERRORS } from "../../src/errors.ts";
import type { Deprecation } from "../../src/http/deprecation.ts";
import { pets } from "../../src/pets/table.ts";
import { v1 } from "../../src/v1.ts";
import { CLOCK, type Happening, type Mode, TRANSITIONS } from "../../src/webhooks/engine/state.ts";
import { releasesOf } from "../release-notes.ts";
import { COST_TABLES } from "./costs.ts";
import type { Tables } from "./generated.ts";
import { ROOT } from "./pages.ts";

/** An operation of the document, as far as the tables need it. */
interface Described {
  operationId: string;
  deprecated?: boolean;
  "x-required-scope"?: string;
  "x-stability": string;
  parameters: { name?: string; "x-stability"?: string }[];
}

interface Operation extends Described {
  method: string;
  path: string;
}

const paths = document.paths as { [path: string]: { [method: string]: Described } };
const OPERATIONS: Operation[] = Object.entries(paths).flatMap(([path, methods]) =>
  Object.entries(methods).map(([method, operation]) => ({ ...operation, method: method.toUpperCase(), path })),
);

/** A program of examples/ as a block of code. */
const program = (file: string) => () =>
  `\`\`\`js\n${readFileSync(join(ROOT, "examples", file), "utf8").trimEnd()}\n\`\`\``;

/** What a release has for clients: the part of its notes below this heading. */
const FOR_CLIENTS = /^### For clients\n\n((?:(?!### ).*\n?)*)/m;

const HAPPENINGS: { [kind in Happening["kind"]]: string } = {
  taken: "a delivery succeeds",
  refused: "a delivery fails",
  paused: "a resource asks for a pause",
  limited: "a third resource asks for a pause",
  tested: "a test succeeds",
  renewed: "another address, or enabled",
};

/** A Mermaid diagram of the states of an endpoint. Happenings that lead to the same state share an arrow. */
function webhookStates(): string {
  const arrows = (Object.keys(TRANSITIONS) as Mode[]).flatMap((from) => {
    const kinds = Object.keys(HAPPENINGS) as Happening["kind"][];
    const ends = Map.groupBy(kinds, (kind) => TRANSITIONS[from][kind][0]);
    return [...ends].map(([to, all]) => [from, all.map((kind) => HAPPENINGS[kind]).join("<br>"), to] as const);
  });
  const lines = [...arrows, ...CLOCK].map(([from, on, to]) => `  ${from} --> ${to}: ${on}`);
  return ["```mermaid", "stateDiagram-v2", "  [*] --> ok", ...lines, "```"].join("\n");
}

/** Brings back lost animals with every column, but for those of the fold, which the hourly job fills. */
function lostAnimals(): string {
  const names = Object.values(getTableColumns(pets)).flatMap(({ name }) => (name.startsWith("folded") ? [] : name));
  const values = names.map((name) => (name === "version" ? "(version + 1000)" : `quote(${name})`));
  const sql = `
  SELECT 'INSERT OR IGNORE INTO pets (${names.join(", ")}) VALUES (' ||
    ${values.join(" || ', ' || ")} || ');' AS line
  FROM pets WHERE id BETWEEN 1 AND 5000`;
  return `\`\`\`sh
npx wrangler d1 execute petstore-production --env production --remote --json --command "${sql}" | jq --raw-output '.[0].results[].line' > then.sql
cat ops/start-feed.sql >> then.sql
npx wrangler d1 time-travel restore petstore-production --env production --bookmark <bookmark of step 3>
npx wrangler d1 execute petstore-production --env production --remote --file then.sql
rm then.sql
\`\`\``;
}

export const TABLES: Tables = {
  ...COST_TABLES,

  "lost-animals": lostAnimals,

  "webhook-states": webhookStates,

  "whats-new": () =>
    releasesOf(readFileSync(join(ROOT, "CHANGELOG.md"), "utf8"))
      .flatMap(({ version, notes }) => {
        const text = FOR_CLIENTS.exec(notes)?.[1];
        return text === undefined ? [] : `## Version ${version}\n\n${text.trim()}`;
      })
      .join("\n\n")
      .replaceAll(/\]\((?!https?:|#)([^)]+)\)/g, (_, target: string) => `](${relative("docs", target)})`),

  "program-shop": program("shop-node/shop.mjs"),
  "program-books": program("books.mjs"),
  "program-offline": program("offline.mjs"),

  errors: () =>
    list(
      Object.entries(ERRORS).map(([code, { status, ...rule }]) => {
        const when = WHEN[code as ErrorCode];
        const advice = "retryAfter" in rule ? `${when} \`Retry-After\` is at most ${rule.retryAfter} seconds.` : when;
        return `${status} [\`${code}\`](#${code}): ${advice}`;
      }),
    ),

  scopes: () =>
    groups(
      OPERATIONS.flatMap(({ operationId, "x-required-scope": scope }) =>
        scope === undefined ? [] : [{ group: scope, member: `\`${operationId}\`` }],
      ),
    ),

  stability: () =>
    groups(
      OPERATIONS.flatMap(({ operationId, parameters, "x-stability": stability }) => [
        { group: stability, member: `\`${operationId}\`` },
        ...parameters.flatMap(({ name, "x-stability": group }) =>
          group === undefined ? [] : [{ group, member: `\`${name}\` of \`${operationId}\`` }],
        ),
      ]),
    ),

  deprecated: () =>
    list(
      OPERATIONS.filter(({ deprecated }) => deprecated === true).map((operation) => {
        const { since, sunset, successor } = deprecationOf(operation);
        return `\`${operation.operationId}\` since ${day(since)}, until ${day(sunset)} or later. Use \`${successor}\`.`;
      }),
    ),

  methods: () =>
    groups(
      Object.entries(new PetStore({ baseUrl: "https://petstore.example/v1", apiKey: "key" })).flatMap(([name, group]) =>
        methodsOf(group).map((method) => ({ group: `store.${name}`, member: `\`${method}\`` })),
      ),
    ),
};

/** The names of the methods of an object, in the order of its class. */
function methodsOf(group: object): string[] {
  return Object.getOwnPropertyNames(Object.getPrototypeOf(group)).filter((name) => name !== "constructor");
}

const list = (items: string[]) => items.map((item) => `- ${item}`).join("\n");

/** A list with an item for each group, which names its members. */
function groups(pairs: { group: string; member: string }[]): string {
  const grouped = Object.entries(Object.groupBy(pairs, ({ group }) => group));
  return list(
    grouped.map(([group, members = []]) => `\`${group}\`: ${members.map(({ member }) => member).join(", ")}`),
  );
}

/** The dates of a deprecated operation, which its handler `deprecated` carries. */
function deprecationOf({ operationId, method, path }: Operation): Deprecation {
  const route = path.replace(/\{(\w+)\}/g, ":$1");
  for (const { handler, ...mounted } of v1.routes) {
    const { deprecation } = handler as { deprecation?: Deprecation };
    if (mounted.method === method && mounted.path === route && deprecation !== undefined) return deprecation;
  }
  throw new Error(`${operationId} is deprecated in the document only`);
}

function day(date: Date): string {
  return date.toLocaleDateString("en-GB", { day: "numeric", month: "long", year: "numeric", timeZone: "UTC" });
}

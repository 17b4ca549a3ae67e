// The parts of the documentation that are generated from the OpenAPI document, the routes, the client, the examples, and constants
// of src/.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { PetStore } from "../../client/src/index.ts";
import { document } from "../../openapi/document.ts";
import { KV_CACHE_TTL_SECONDS, RECORD_SECONDS } from "../../src/auth/key-lookup.ts";
import { WHEN } from "../../openapi/errors.ts";
import { type ErrorCode, ERRORS } from "../../src/errors.ts";
import { BODY_TIMEOUT_MILLISECONDS, MAX_BODY_BYTES } from "../../src/http/body.ts";
import type { Deprecation } from "../../src/http/deprecation.ts";
import { LINGER_BYTES, LINGER_MILLISECONDS } from "../../src/http/lingering-close.ts";
import { v1 } from "../../src/v1.ts";
import { COST_TABLES } from "./costs.ts";
import { table, type Tables } from "./generated.ts";
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
const base = document.servers?.[0]?.url;
const OPERATIONS: Operation[] = Object.entries(paths).flatMap(([path, methods]) =>
  Object.entries(methods).map(([method, operation]) => ({ ...operation, method: method.toUpperCase(), path })),
);

/** Seconds in which a value reaches every location, according to KV. */
const KV_PROPAGATION_SECONDS = 60;
/** Seconds in which a revoked key stops working. */
export const REVOCATION_SECONDS = KV_PROPAGATION_SECONDS + KV_CACHE_TTL_SECONDS + RECORD_SECONDS;

/** A program of examples/ as a block of code. */
const program = (file: string, language: string) => () =>
  `\`\`\`${language}\n${readFileSync(join(ROOT, "examples", file), "utf8").trimEnd()}\n\`\`\``;

export const TABLES: Tables = {
  ...COST_TABLES,

  "program-shop": program("shop-node/shop.mjs", "js"),
  "program-books": program("books.mjs", "js"),
  "program-books-python": program("clients/books.py", "python"),
  "program-books-go": program("clients/books.go", "go"),
  "program-offline": program("offline.mjs", "js"),

  errors: () =>
    table(
      ["Status", "Code", "Condition"],
      Object.entries(ERRORS).map(([code, { status, ...rule }]) => {
        const when = WHEN[code as ErrorCode];
        const advice = "retryAfter" in rule ? `${when} \`Retry-After\` is ${rule.retryAfter} seconds.` : when;
        return [String(status), `[\`${code}\`](#${code})`, advice];
      }),
    ),

  scopes: () =>
    table(
      ["Scope", "Operation", "Request"],
      OPERATIONS.map(({ operationId, method, path, ...operation }) => [
        operation["x-required-scope"] === undefined ? "none" : `\`${operation["x-required-scope"]}\``,
        `\`${operationId}\``,
        `\`${method} ${base}${path}\``,
      ]).toSorted(([a = ""], [b = ""]) => a.localeCompare(b)),
    ),

  stability: () =>
    table(
      ["Operation", "Stability", "Deprecated since", "Removed on", "Replacement"],
      OPERATIONS.flatMap((operation) => [
        [`\`${operation.operationId}\``, operation["x-stability"], ...removal(operation)],
        ...operation.parameters.flatMap(({ name, "x-stability": stability }) =>
          stability === undefined ? [] : [[`\`${operation.operationId}\`, parameter \`${name}\``, stability]],
        ),
      ]),
    ),

  methods: () =>
    table(
      ["Group", "Methods"],
      Object.entries(new PetStore({ baseUrl: "https://petstore.example/v1", apiKey: "key" })).map(([name, group]) => [
        `\`store.${name}\``,
        methodsOf(group)
          .map((method) => `\`${method}\``)
          .join(", "),
      ]),
    ),

  "body-budgets": () =>
    table(
      ["Budget", "Value", "On excess"],
      [
        ["Size of a needed body", `${MAX_BODY_BYTES / 1024} KiB`, "413"],
        ["Time for a needed body", `${BODY_TIMEOUT_MILLISECONDS / 1000} s`, "408"],
        ["Size of the rest of an unneeded one", `${LINGER_BYTES / 1024} KiB`, "the response goes out anyway"],
        ["Time for the rest of an unneeded one", `${LINGER_MILLISECONDS / 1000} s`, "the response goes out anyway"],
      ],
    ),

  revocation: () =>
    table(
      ["Delay", "Seconds", "Source"],
      [
        ["KV sends the record to every location", KV_PROPAGATION_SECONDS, 'KV documents "up to 60 seconds or more"'],
        ["A location serves its own copy", KV_CACHE_TTL_SECONDS, "`KV_CACHE_TTL_SECONDS`, the minimum of KV"],
        ["An isolate caches the record", RECORD_SECONDS, "`RECORD_SECONDS`"],
        ["Total", REVOCATION_SECONDS, ""],
      ].map((cells) => cells.map(String)),
    ),
};

/** The names of the methods of an object, in the order of its class. */
function methodsOf(group: object): string[] {
  return Object.getOwnPropertyNames(Object.getPrototypeOf(group)).filter((name) => name !== "constructor");
}

/** The last three cells of a row of the stability table. */
function removal(operation: Operation): [since: string, on: string, replacement: string] {
  if (operation.deprecated !== true) return ["", "", ""];
  const { since, sunset, successor } = deprecationOf(operation);
  return [day(since), day(sunset), `\`${successor}\``];
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

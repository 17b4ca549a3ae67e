// The tables of docs/ that come from the code: from the OpenAPI document, the routes, and src/errors.ts.
import { document } from "../../openapi/document.ts";
import { ERRORS } from "../../src/errors.ts";
import type { Deprecation } from "../../src/http/deprecation.ts";
import { v1 } from "../../src/v1.ts";
import type { Tables } from "./generated.ts";

/** An operation of the document, as far as the tables need it. */
interface Described {
  operationId: string;
  deprecated?: boolean;
  "x-required-scope": string;
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

export const TABLES: Tables = {
  errors: () =>
    table(
      ["Status", "Code", "Condition", "`Retry-After`"],
      Object.entries(ERRORS).map(([code, { status, when, ...rule }]) => [
        String(status),
        `\`${code}\``,
        when,
        "retryAfter" in rule ? `${rule.retryAfter} seconds` : "",
      ]),
    ),

  scopes: () =>
    table(
      ["Scope", "Operation", "Request"],
      OPERATIONS.map(({ operationId, method, path, ...operation }) => [
        `\`${operation["x-required-scope"]}\``,
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
};

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

/** A Markdown table with columns of one width each, as oxfmt formats it. */
function table(head: string[], rows: string[][]): string {
  const widths = head.map((_, column) => Math.max(3, ...[head, ...rows].map((row) => row[column]?.length ?? 0)));
  const line = (cells: string[], filler = " ") =>
    `| ${widths.map((width, column) => (cells[column] ?? "").padEnd(width, filler)).join(" | ")} |`;
  return [line(head), line([], "-"), ...rows.map((row) => line(row))].join("\n");
}

// The tables of docs/ that come from the code. The rows are those of the OpenAPI document and of src/errors.ts.
import { document } from "../../openapi/document.ts";
import { ERRORS } from "../../src/errors.ts";
import type { Tables } from "./generated.ts";

/** An operation of the document, as far as the tables need it. */
interface Described {
  operationId: string;
  deprecated?: boolean;
  "x-required-scope": string;
  "x-stability": string;
  responses: {
    [status: string]: { headers: { [name: string]: { schema?: { const?: string; examples?: string[] } } } };
  };
}

interface Operation extends Described {
  /** Method and path, as a client sends them. */
  request: string;
}

const paths = document.paths as { [path: string]: { [method: string]: Described } };
const [server] = document.servers ?? [];
const OPERATIONS: Operation[] = Object.entries(paths).flatMap(([path, methods]) =>
  Object.entries(methods).map(([method, operation]) => ({
    ...operation,
    request: `${method.toUpperCase()} ${server?.url}${path}`,
  })),
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
      OPERATIONS.map(({ operationId, request, ...operation }) => [
        `\`${operation["x-required-scope"]}\``,
        `\`${operationId}\``,
        `\`${request}\``,
      ]).toSorted(([a = ""], [b = ""]) => a.localeCompare(b)),
    ),

  stability: () =>
    table(
      ["Operation", "Stability", "Deprecated since", "Removed on", "Replacement"],
      OPERATIONS.map((operation) => [`\`${operation.operationId}\``, operation["x-stability"], ...removal(operation)]),
    ),
};

/** The last three cells of a row of the stability table. */
function removal({ operationId, deprecated, responses }: Operation): [since: string, on: string, replacement: string] {
  if (deprecated !== true) return ["", "", ""];
  const [success] = Object.values(responses);
  const valueOf = (header: string) => {
    const { const: value, examples: [example] = [] } = success?.headers[header]?.schema ?? {};
    return value ?? example ?? "";
  };
  // `@<seconds>` (RFC 9745), an HTTP date (RFC 8594), and `<path>; rel="successor-version"` (RFC 8288).
  const since = new Date(1_000 * Number(valueOf("Deprecation").slice(1)));
  const successor = /<([^>]+)>; rel="successor-version"/.exec(valueOf("Link"))?.[1];
  if (successor === undefined) throw new Error(`${operationId} is deprecated, and its responses name no successor`);
  return [day(since), day(new Date(valueOf("Sunset"))), `\`${successor}\``];
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

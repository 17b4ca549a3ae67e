import type { OpenAPIObject } from "openapi3-ts/oas31";
import { fieldNames, operationsOf, originOf } from "./document.ts";

/** The parts of the client that have to match the document. */
export interface ClientSource {
  /** The source of the classes with the methods. */
  methods: string;
  /** The source of the generated types. */
  types: string;
  /** The names of the fields that the client reads as 64-bit integers. */
  int64Fields: readonly string[];
}

/** One sentence for each difference between the client and the document. */
export function findFaults(document: OpenAPIObject, { methods, types, int64Fields }: ClientSource): string[] {
  const operations = operationsOf(document);
  const comments = new Map<string, string>();
  // Each method has a doc comment and names its operation in quotes.
  for (const part of methods.split("/**").slice(1)) {
    const [comment = "", code = ""] = part.split("*/");
    const [named, ...others] = operations.filter(({ operationId }) => code.includes(`"${operationId}"`));
    if (named !== undefined && others.length === 0) comments.set(named.operationId, comment);
  }
  const faults = operations.flatMap(({ operationId, deprecated = false, "x-stability": stability }) => {
    const comment = comments.get(operationId);
    if (comment === undefined) return [`The client has no method with a doc comment for ${operationId}.`];
    const marks: [string, boolean][] = [
      ["@deprecated", deprecated],
      ["@beta", stability === "beta"],
      ["@experimental", stability === "experimental"],
    ];
    return marks
      .filter(([mark, expected]) => comment.includes(mark) !== expected)
      .map(
        ([mark, expected]) =>
          `The comment of the method for ${operationId} ${expected ? "lacks" : "should not have"} ${mark}.`,
      );
  });
  if (types.split("\n", 1)[0] !== originOf(document)) {
    faults.push("client/src/schema.ts is stale. Run npm run generate:client-types.");
  }
  return [...faults, ...differencesOfFields(document, int64Fields)];
}

function differencesOfFields(document: OpenAPIObject, int64Fields: readonly string[]): string[] {
  const { int64, other } = fieldNames(document);
  const wrong = int64Fields.filter((name) => !int64.has(name) || other.has(name));
  const missing = [...int64].filter((name) => !int64Fields.includes(name));
  return [
    ...wrong.map((name) => `${name} is in INT64_FIELDS of client/src/int64.ts, but does not always have format int64.`),
    ...missing.map(
      (name) =>
        `${name} has format int64. Add it to INT64_FIELDS of client/src/int64.ts, or use int32 if that is enough.`,
    ),
  ];
}

import type { OperationObject, ReferenceObject, ResponseObject } from "openapi3-ts/oas31";
import { resolve, sharedName } from "../read.ts";
import { compareContent } from "./content.ts";
import { type Comparison, compareSchemas, type Documents } from "./schemas.ts";

export function compareResponses(
  documents: Documents,
  where: string,
  before: OperationObject,
  after: OperationObject,
): string[] {
  const comparison: Comparison = { ...documents, direction: "response" };
  const [responses, newResponses] = [responsesOf(before), responsesOf(after)];
  const changes: string[] = [];

  for (const [status, part] of responses) {
    const found = newResponses.get(status);
    if (found === undefined) {
      changes.push(`${where}: no longer returns ${status}, so clients that expect it get another status`);
      continue;
    }
    const place = sharedName(part, found) ?? `${where} ${status}`;
    const [response, newResponse] = [resolve(documents.released, part), resolve(documents.current, found)];
    changes.push(
      ...compareHeaders(comparison, place, response, newResponse),
      ...compareContent(comparison, `${place}, body`, response.content, newResponse.content),
    );
  }
  for (const status of newResponses.keys()) {
    // A new failure is compatible (docs/versioning.md). Only a request with a precondition gets a 304 (RFC 9110, section 15.4.5).
    if (responses.has(status) || !/^[123]/.test(status) || status === "304") continue;
    changes.push(`${where}: may now return ${status}, which its clients do not expect`);
  }
  return changes;
}

function responsesOf({ responses = {} }: OperationObject): Map<string, ResponseObject | ReferenceObject> {
  return new Map(Object.entries(responses).filter(([status]) => !status.startsWith("x-")));
}

function compareHeaders(
  comparison: Comparison,
  where: string,
  before: ResponseObject,
  after: ResponseObject,
): string[] {
  // Header names are case-insensitive.
  const newHeaders = new Map(Object.entries(after.headers ?? {}).map(([name, part]) => [name.toLowerCase(), part]));
  return Object.entries(before.headers ?? {}).flatMap(([name, part]) => {
    const found = newHeaders.get(name.toLowerCase());
    const place = sharedName(part, found) ?? `${where}, header ${name}`;
    if (found === undefined) return [`${place}: the header is gone, so clients that read it break`];
    const [header, newHeader] = [resolve(comparison.released, part), resolve(comparison.current, found)];
    const changes = compareSchemas(comparison, place, header.schema ?? {}, newHeader.schema ?? {});
    if (header.required && !newHeader.required) {
      changes.push(`${place}: the header may now be missing, so clients that read it break`);
    }
    return changes;
  });
}

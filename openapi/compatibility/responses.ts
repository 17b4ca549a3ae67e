import type { OperationObject, ResponseObject } from "openapi3-ts/oas31";
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
  const { responses = {} } = before;
  const { responses: newResponses = {} } = after;
  const changes: string[] = [];

  for (const [status, part] of Object.entries(responses)) {
    const found = newResponses[status];
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
  for (const status of Object.keys(newResponses)) {
    // A new failure is compatible (docs/versioning.md). Only a request with a precondition gets a 304 (RFC 9110, section 15.4.5).
    if (status in responses || !/^[123]/.test(status) || status === "304") continue;
    changes.push(`${where}: may now return ${status}, which its clients do not expect`);
  }
  return changes;
}

function compareHeaders(
  comparison: Comparison,
  where: string,
  before: ResponseObject,
  after: ResponseObject,
): string[] {
  return Object.entries(before.headers ?? {}).flatMap(([name, part]) => {
    const found = after.headers?.[name];
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

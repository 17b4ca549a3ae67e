import type { ContentObject } from "openapi3-ts/oas31";
import { type Comparison, compareSchemas } from "./schemas.ts";

const GONE = {
  request: "no longer accepted, so requests with it are refused",
  response: "no longer sent, so clients that read it break",
};

/** Compares the content of a body. A new media type is compatible: a client has to name it in its request. */
export function compareContent(
  comparison: Comparison,
  where: string,
  before: ContentObject = {},
  after: ContentObject = {},
): string[] {
  return Object.entries(before).flatMap(([mediaType, { schema = {} }]) => {
    const found = after[mediaType];
    return found === undefined
      ? [`${where}: ${mediaType} is ${GONE[comparison.direction]}`]
      : compareSchemas(comparison, where, schema, found.schema ?? {});
  });
}

// The links from a response to the next operations (OpenAPI 3.1, Link Object).
import type { LinkObject, LinksObject } from "openapi3-ts/oas31";
import type { Resource } from "./describe.ts";
import { mountedAs } from "./operation.ts";

/** The links of the document, by the operation that they link to. */
export const links: { [operationId: string]: LinkObject } = {};

/** A path with an id at its end. */
const ITEM = /^(?<collection>.*)[/]\{(?<parameter>\w+)\}$/;

/** The links of a response with this schema. If the schema is one resource, its `id` links to the other operations on it. */
export function linksOf(
  operationId: string,
  path: string,
  schema: string | undefined,
  { schemas, operations }: Resource,
): LinksObject {
  if (schema === undefined || schemas[schema]?.properties?.["id"] === undefined) return {};
  const collection = ITEM.exec(path)?.groups?.["collection"] ?? path;
  const found: LinksObject = {};
  for (const other of Object.keys(operations)) {
    const { groups } = ITEM.exec(mountedAs(other).path) ?? {};
    if (other === operationId || groups?.["collection"] !== collection) continue;
    const parameter = groups["parameter"] ?? "";
    links[other] = {
      operationId: other,
      parameters: { [parameter]: "$response.body#/id" },
      description: `The \`id\` of the response is the \`${parameter}\` of \`${other}\`.`,
    };
    found[other] = { $ref: `#/components/links/${other}` };
  }
  return found;
}

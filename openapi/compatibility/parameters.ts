import type { OpenAPIObject, OperationObject, ParameterObject, ReferenceObject } from "openapi3-ts/oas31";
import { resolve, sharedName, write } from "../read.ts";
import { compareValue } from "./content.ts";
import type { Documents } from "./schemas.ts";
import { compareStability, stabilityOf } from "./stability.ts";

interface Parameter extends ParameterObject {
  /** As in the operation, possibly a reference. */
  part: ParameterObject | ReferenceObject;
}

export function compareParameters(
  documents: Documents,
  where: string,
  before: OperationObject,
  after: OperationObject,
): string[] {
  const parameters = parametersOf(documents.released, before);
  const newParameters = parametersOf(documents.current, after);
  const changes: string[] = [];

  for (const [key, parameter] of parameters) {
    if (stabilityOf(parameter, before) === "experimental") continue;
    const found = newParameters.get(key);
    if (found === undefined) {
      const moved = [...newParameters].find(([other, { name }]) => name === parameter.name && !parameters.has(other));
      const change = moved === undefined ? "is gone" : `moved to the ${moved[1].in}`;
      changes.push(`${where}, ${key}: the parameter ${change}, so the service no longer reads it here`);
      continue;
    }
    const place = sharedName(parameter.part, found.part) ?? `${where}, ${key}`;
    const stability = stabilityOf(parameter, before);
    changes.push(...compareStability(place, stability, stabilityOf(found, { "x-stability": stability })));
    if (styleOf(parameter) !== styleOf(found))
      changes.push(`${place}: the parameter is written in another style, so the service misreads it`);
    changes.push(...compareValue({ ...documents, direction: "request" }, place, parameter, found));
  }
  for (const [key, parameter] of newParameters) {
    const known = parameters.get(key);
    if (!parameter.required || known?.required) continue;
    const place = sharedName(known?.part, parameter.part) ?? `${where}, ${key}`;
    changes.push(`${place}: the parameter is now required, so requests without it are refused`);
  }
  return changes;
}

/** By place and name. A later parameter replaces an earlier one. Header names are case-insensitive. */
function parametersOf(document: OpenAPIObject, { parameters = [] }: OperationObject): Map<string, Parameter> {
  return new Map(
    parameters.map((part) => {
      const parameter = resolve(document, part);
      const name = parameter.in === "header" ? parameter.name.toLowerCase() : parameter.name;
      return [`${parameter.in} parameter ${name}`, { ...parameter, part }];
    }),
  );
}

/** How a list or an object is written (OpenAPI 3.1, Parameter Object). The document has the defaults. */
const styleOf = ({ style, explode }: ParameterObject) => write([style, explode]);

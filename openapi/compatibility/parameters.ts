import type { OpenAPIObject, OperationObject, ParameterObject, ReferenceObject } from "openapi3-ts/oas31";
import { resolve, sharedName } from "../read.ts";
import { compareSchemas, type Documents } from "./schemas.ts";
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
      changes.push(`${where}, ${key}: the parameter is gone, so the service no longer reads it here`);
      continue;
    }
    const place = sharedName(parameter.part, found.part) ?? `${where}, ${key}`;
    const stability = stabilityOf(parameter, before);
    changes.push(...compareStability(place, stability, stabilityOf(found, { "x-stability": stability })));
    const comparison = { ...documents, direction: "request" } as const;
    changes.push(...compareSchemas(comparison, place, parameter.schema ?? {}, found.schema ?? {}));
  }
  for (const [key, parameter] of newParameters) {
    const known = parameters.get(key);
    if (!parameter.required || known?.required) continue;
    const place = sharedName(known?.part, parameter.part) ?? `${where}, ${key}`;
    changes.push(`${place}: the parameter is now required, so requests without it are refused`);
  }
  return changes;
}

/** Other ways to write a value (OpenAPI 3.1, Parameter Object). The document has the default one. */
const UNKNOWN = ["content", "explode", "style"];

/**
 * By place and name.
 *
 * @throws Error for a parameter that is written in another way.
 */
function parametersOf(document: OpenAPIObject, { parameters = [] }: OperationObject): Map<string, Parameter> {
  return new Map(
    parameters.map((part) => {
      const parameter = resolve(document, part);
      const unknown = UNKNOWN.find((member) => member in parameter);
      if (unknown !== undefined) throw new Error(`The check of compatibility does not know ${unknown} of a parameter.`);
      return [`${parameter.in} parameter ${parameter.name}`, { ...parameter, part }];
    }),
  );
}

import type { ISpecificationExtension } from "openapi3-ts/oas31";

/** The marks, in ascending order of what they promise (docs/versioning.md). */
const MARKS = ["experimental", "beta", "stable"];

/** The mark of an operation or of a parameter. A parameter inherits the mark of its operation. */
export function stabilityOf(part: ISpecificationExtension, operation: ISpecificationExtension = {}): string {
  return part["x-stability"] ?? operation["x-stability"] ?? "stable";
}

export function compareStability(where: string, before: string, after: string): string[] {
  if (MARKS.indexOf(after) >= MARKS.indexOf(before)) return [];
  return [`${where}: was ${before} and is now ${after}, so its clients lose the promise that it stays as it is`];
}

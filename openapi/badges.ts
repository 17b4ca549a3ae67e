// Badges of operations in the reference, for those that are not stable or are deprecated.
import type { OpenAPIObject } from "openapi3-ts/oas31";
import { operationsOf } from "./read.ts";

export const BADGES: { [stability: string]: { name: string; color: string } } = {
  beta: { name: "Beta", color: "#8a5a00" },
  experimental: { name: "Experimental", color: "#a3260f" },
};

/** CSS that adds the badges to the navigation of the reference. The renderer shows none there. */
export function navigationBadges(document: OpenAPIObject): string {
  const rules = [...operationsOf(document)].flatMap(([route, operation]) => {
    const name = operation.deprecated ? "Deprecated" : BADGES[operation["x-stability"]]?.name;
    const id = `/${route.replace(" ", "")}`;
    return name === undefined
      ? []
      : [`[data-sidebar-id$="${id}"] .group\\/button-label::after { content: "${name}"; }\n`];
  });
  return rules.join("");
}

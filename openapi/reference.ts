// The copy of the document that the reference at /docs shows. Its renderer rounds large integers and ignores some extensions, so
// this copy has the same content in forms that the renderer shows exactly.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { OpenAPIObject, OperationObject, SchemaObject } from "openapi3-ts/oas31";
import { BADGES } from "./badges.ts";
import { type Guide, guides } from "./guides.ts";
import { parseDocument, write } from "./read.ts";
import { samplesOf } from "./samples.ts";

const QUICK_START = readFileSync(join(import.meta.dirname, "quick-start.md"), "utf8");

interface Part {
  [name: string]: unknown;
}

/** The copy as JSON. page/reference.js fills in the parts that depend on the host. */
export function referenceDocument(document: OpenAPIObject): string {
  const exactly = parseDocument(write(document));
  const { tags = [], info } = exactly;
  const guideTags = guides.map((guide) => ({ name: guide.title, description: contents(guide) }));
  const reference = {
    ...exactly,
    info: { ...info, description: QUICK_START },
    paths: withSamplesAndScopes(exactly),
    tags: [...tags, ...guideTags],
    "x-tagGroups": [
      { name: "Operations", tags: tags.map(({ name }) => name) },
      { name: "Guides", tags: guideTags.map(({ name }) => name) },
    ],
  };
  return JSON.stringify(reference, (name, part: unknown) => {
    if (!isPart(part)) return part;
    return name === "content" ? withExampleTexts(part) : withStability(withBoundsInWords(part));
  });
}

/** The paths, with samples and texts that the renderer does not produce. */
function withSamplesAndScopes({ paths = {} }: OpenAPIObject): object {
  const withThem = (path: string, item: object) =>
    Object.fromEntries(
      Object.entries(item).map(([method, operation]: [string, OperationObject]) => [
        method,
        {
          ...operation,
          description: `${operation.description}\n\nThe API key needs the scope \`${operation["x-required-scope"]}\`.`,
          "x-codeSamples": samplesOf(method, path, operation),
        },
      ]),
    );
  return Object.fromEntries(Object.entries(paths).map(([path, item]) => [path, withThem(path, item)]));
}

/** The description of a guide, with its section titles, so that the search of the reference finds them. */
function contents({ path, title, summary, sections }: Guide): string {
  const list = sections.map(({ id, title }) => `- [${title}](${path}#${id})`);
  return [summary, `[Read the guide: ${title}](${path})`, list.join("\n")].join("\n\n");
}

function withBoundsInWords(part: Part): Part {
  const { minimum, maximum, description = "", items, ...rest } = part as SchemaObject;
  // The renderer shows no description of the items.
  if (items !== undefined && "format" in items && items.format === "int64")
    return { ...part, description: `${description} Each from ${items.minimum} to ${items.maximum}.`.trim() };
  if (part["format"] !== "int64") return part;
  return { ...rest, description: `${description} From ${minimum} to ${maximum}.`.trim() };
}

/** Adds a badge to an operation. The renderer has no badges for parameters, so their descriptions get a prefix. */
function withStability(part: Part): Part {
  const badge = BADGES[String(part["x-stability"])];
  if (badge === undefined) return part;
  if ("in" in part) return { ...part, description: `**${badge.name}.** ${part["description"] as string}` };
  return { ...part, "x-badges": [{ ...badge, position: "before" }] };
}

/** The renderer shows text unchanged but rounds the integers of a value. The keyword is from OpenAPI 3.2. */
function withExampleTexts(content: Part): Part {
  return Object.fromEntries(
    Object.entries(content).map(([mediaType, media]) => {
      const { examples, ...rest } = media as { examples: { [name: string]: { value: unknown } } };
      const texts = Object.entries(examples).map(([name, { value }]) => [name, { serializedValue: write(value, 2) }]);
      return [mediaType, { ...rest, examples: Object.fromEntries(texts) }];
    }),
  );
}

function isPart(part: unknown): part is Part {
  return typeof part === "object" && part !== null && !Array.isArray(part);
}

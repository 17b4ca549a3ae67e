// The copy of the document that the reference at /docs/reference shows. Its renderer rounds large integers and ignores some extensions, so
// this copy has the same content in forms that the renderer shows exactly.
import type {
  OpenAPIObject,
  OperationObject,
  ParameterObject,
  ReferenceObject,
  ResponseObject,
} from "openapi3-ts/oas31";
import { BADGES } from "./badges.ts";
import { type ErrorCode, ERRORS, MAX_LENGTH } from "./content.ts";
import { type Guide, guides } from "./guides.ts";
import { parseDocument, write } from "./read.ts";
import { samplesOf } from "./samples.ts";

/** Its page. The renderer is large, and the guides do not need it. */
export const REFERENCE = "/docs/reference";

/** What the console shows for an `Idempotency-Key` that nobody entered. */
export const NEW_KEY = "{{new-for-each-request}}";

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
    info: { ...info, description: `${introductionOf(document)} The [quick start](/docs) has the first requests.` },
    paths: withSamplesAndScopes(exactly),
    components: {
      ...exactly.components,
      parameters: Object.fromEntries(
        Object.entries(exactly.components?.parameters ?? {}).map(([name, one]) => [name, forTheConsole("", one)]),
      ),
    },
    tags: [...tags, ...guideTags],
    "x-tagGroups": [
      { name: "Operations", tags: tags.map(({ name }) => name) },
      { name: "Guides", tags: guideTags.map(({ name }) => name) },
    ],
  };
  return JSON.stringify(reference, (name, part: unknown) => {
    if (!isPart(part)) return part;
    return name === "content" ? withExampleTexts(part) : withStability(part);
  });
}

/** The first paragraph of the description, which says what the API is for. */
export function introductionOf({ info }: OpenAPIObject): string {
  return info.description?.split("\n\n")[0] ?? "";
}

/** The paths, with samples and texts that the renderer does not produce. */
function withSamplesAndScopes({ paths = {} }: OpenAPIObject): object {
  const withThem = (path: string, item: object) =>
    Object.fromEntries(
      Object.entries(item).map(([method, operation]: [string, OperationObject]) => [
        method,
        {
          ...operation,
          description: `${operation.description}\n\n${scopeOf(operation)}\n\n${errorsOf(operation)}`,
          parameters: operation.parameters?.map((parameter) => forTheConsole(method, parameter)),
          "x-codeSamples": samplesOf(method, path, operation),
        },
      ]),
    );
  return Object.fromEntries(Object.entries(paths).map(([path, item]) => [path, withThem(path, item)]));
}

const scopeOf = ({ "x-required-scope": scope }: OperationObject) =>
  scope === undefined ? "Every valid API key may use it." : `The API key needs the scope \`${scope}\`.`;

/** Links to the advice on each error code. The renderer shows the responses inside buttons, where no link can be. */
function errorsOf({ responses }: OperationObject): string {
  const examples = Object.values(responses as { [status: string]: ResponseObject }).flatMap(({ content }) =>
    Object.values((content?.["application/json"]?.examples ?? {}) as { [name: string]: { value: { code?: string } } }),
  );
  const codes = new Set(examples.map(({ value }) => value.code).filter((code) => code !== undefined && code in ERRORS));
  return `Errors: ${[...(codes as Set<ErrorCode>)].map((code) => `[\`${code}\`](/docs/errors#${code})`).join(", ")}.`;
}

/** Removes the examples, because the console sends each of them, required or not. A creation gets a key: page/reference.js replaces NEW_KEY. */
function forTheConsole(method: string, parameter: ParameterObject | ReferenceObject): object {
  if ("$ref" in parameter) return parameter;
  const { example: _, ...rest } = parameter;
  if (rest.name === "Idempotency-Key") {
    // The length of a key, instead of that of the header, which may quote it.
    const schema = { ...rest.schema, minLength: 1, maxLength: MAX_LENGTH };
    return { ...rest, schema, ...(method === "post" ? { example: NEW_KEY } : {}) };
  }
  // Without an example, it would send the first value of an enum.
  const { schema } = rest;
  const lists = schema !== undefined && ("$ref" in schema || schema.enum !== undefined);
  return rest.in === "query" && lists ? { ...rest, example: "" } : rest;
}

/** The description of a guide: its sections. */
function contents({ path, title, summary, sections }: Guide): string {
  const list = sections.map(({ level, id, title, summary }) => {
    const status = id in ERRORS ? `${ERRORS[id as ErrorCode].status} ` : "";
    return `${level > 2 ? "  " : ""}- [${status}${title}](${path}#${id})${summary && `: ${summary}`}`;
  });
  return [summary, `[Read the guide: ${title}](${path})`, list.join("\n")].join("\n\n");
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
      // A stream of events has none.
      const { examples = {}, ...rest } = media as { examples?: { [name: string]: { value: unknown } } };
      const texts = Object.entries(examples).map(([name, { value }]) => [name, { serializedValue: write(value, 2) }]);
      return [mediaType, { ...rest, examples: Object.fromEntries(texts) }];
    }),
  );
}

function isPart(part: unknown): part is Part {
  return typeof part === "object" && part !== null && !Array.isArray(part);
}

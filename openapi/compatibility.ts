// What a document promises to clients and what it demands of them, as sentences that can be compared. A promise that is gone, or a
// demand that is new, breaks a client (docs/versioning.md).

type Json = null | boolean | number | string | Json[] | { [name: string]: Json };
export interface OpenApiDocument {
  paths: { [path: string]: { [method: string]: Operation } };
  components?: unknown;
}
interface Operation {
  operationId: string;
  "x-required-scope": string;
  parameters: unknown[];
  requestBody?: unknown;
  responses: { [status: string]: unknown };
}
type Node = { [name: string]: Json };

/** Words in a schema that change no meaning. */
const PROSE = new Set(["description", "summary", "examples", "example", "title"]);

/** Every way in which `current` breaks clients of `released`, as sentences; a looser rule counts too, so that somebody looks. */
export function findBreakingChanges(released: OpenApiDocument, current: OpenApiDocument): string[] {
  const [before, after] = [describe(released), describe(current)];
  return [
    ...[...before.promises]
      .filter((promise) => !after.promises.has(promise))
      .map((promise) => `No longer so: ${promise}`),
    ...[...after.demands].filter((demand) => !before.demands.has(demand)).map((demand) => `Newly required: ${demand}`),
    // A rule on a field that is new as well binds nobody.
    ...[...after.rules]
      .filter(([rule, field]) => !before.rules.has(rule) && before.promises.has(`${field} exists`))
      .map(([rule]) => `A rule that is new: ${rule}`),
  ];
}

interface Description {
  promises: Set<string>;
  demands: Set<string>;
  /** What requests have to keep, by the field that it is about. */
  rules: Map<string, string>;
}

function describe(document: OpenApiDocument): Description {
  const promises = new Set<string>();
  const demands = new Set<string>();
  const rules = new Map<string, string>();

  for (const [path, operations] of Object.entries(document.paths)) {
    for (const [method, operation] of Object.entries(operations)) {
      const where = `${method.toUpperCase()} ${path}`;
      promises.add(`${where} exists, as ${operation.operationId}`);
      promises.add(`${where} is open to ${write(operation["x-required-scope"])}`);
      for (const item of operation.parameters) {
        const parameter = resolve(item);
        const name = `${where}: ${write(parameter["in"])} parameter ${write(parameter["name"])}`;
        promises.add(`${name} exists`);
        describeSchema(name, parameter["schema"], "request");
        if (parameter["required"] === true) demands.add(name);
      }
      const body = operation.requestBody === undefined ? undefined : jsonSchema(resolve(operation.requestBody));
      if (body !== undefined) describeSchema(`${where}: request body`, body, "request");
      for (const [status, item] of Object.entries(operation.responses)) {
        const response = resolve(item);
        promises.add(`${where} answers ${status}`);
        for (const [header, reference] of Object.entries((response["headers"] ?? {}) as Node)) {
          const { required, schema } = resolve(reference);
          if (required === true) promises.add(`${where} ${status}: sends ${header}`);
          describeSchema(`${where} ${status}: header ${header}`, schema, "response");
        }
        describeSchema(`${where} ${status}: body`, jsonSchema(response), "response");
      }
    }
  }
  return { promises, demands, rules };

  function describeSchema(where: string, item: Json | undefined, direction: "request" | "response"): void {
    const { properties, required, items, ...keywords } = resolve(item);
    for (const [rule, value] of Object.entries(keywords)) {
      // New error codes are announced as compatible; each one that there is stays.
      if (rule === "enum" && where.endsWith(".code") && Array.isArray(value)) {
        for (const code of value) promises.add(`${where} may be ${write(code)}`);
      } else if (!PROSE.has(rule)) {
        const sentence = `${where}: ${rule} is ${write(value)}`;
        promises.add(sentence);
        if (direction === "request") rules.set(sentence, where);
      }
    }
    for (const [name, property] of Object.entries((properties ?? {}) as Node)) {
      const field = `${where}.${name}`;
      promises.add(`${field} exists`);
      const isRequired = Array.isArray(required) && required.includes(name);
      if (isRequired) (direction === "request" ? demands : promises).add(`${field} is always there`);
      describeSchema(field, property, direction);
    }
    if (items !== undefined) describeSchema(`${where}[]`, items, direction);
  }

  /** Follows `$ref`, one level at a time; words beside it add to what it names. */
  function resolve(item: unknown): Node {
    const { $ref, ...beside } = (item ?? {}) as Node;
    if (typeof $ref !== "string") return beside;
    const target = $ref
      .split("/")
      .slice(1)
      .reduce<unknown>((node, name) => (node as Node)[name], document);
    return { ...resolve(target), ...beside };
  }
}

const write = (value: Json | undefined) => JSON.stringify(value);

function jsonSchema({ content }: Node): Json | undefined {
  return ((content as Node | undefined)?.["application/json"] as Node | undefined)?.["schema"];
}

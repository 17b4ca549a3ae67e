// Writes .dist/drizzle-orm.ts, which the bundle has in the place of drizzle: the SQL of every statement. wrangler runs it before each build.
// It evaluates the Worker twice: with drizzle for the SQL, and with src/db/stand-in.ts for the names under which the bundle looks it up.
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import type * as Drizzle from "drizzle-orm";
import { build, type Plugin } from "esbuild";
import { readStatement, SEPARATOR } from "../src/db/stand-in.ts";

const ROOT = join(import.meta.dirname, "..");
const FOLDER = join(ROOT, ".dist");
/** The path of the module that stands for drizzle. */
export const STAND_IN = join(FOLDER, "drizzle-orm.ts");
/** What the stand-in has beside expressions. */
const OWN = ["sqliteTable", "getTableColumns", "fillPlaceholders"];

/**
 * The module that stands for drizzle.
 *
 * @param entries the modules whose statements it has, with those of all that they import.
 * @throws Error when a statement cannot be built.
 */
export async function compileStatements(entries = ["src/index.ts"]): Promise<string> {
  const named = "standInFor((name) => ({ sql: name, params: [] }))";
  const { queries, drizzle } = await evaluate(entries);
  const exported = Object.keys(drizzle);
  const { queries: names } = await evaluate(entries, moduleOf(named, exported));
  if (queries.length !== names.length) throw new Error("The statements with drizzle and with the stand-in differ");
  const statements = new Map<string, string>();
  for (const [index, { sql: name }] of names.entries()) {
    const text = textOf(queries[index] as BuiltQuery, drizzle);
    if ((statements.get(name) ?? text) !== text)
      throw new Error(`Two statements have one name. Change one of them:\n${text}\n${statements.get(name)}`);
    statements.set(name, text);
  }
  const lines = linesOf(statements);
  for (const [name, text] of statements)
    if (readStatement(lines, name) !== text) throw new Error(`This is not read again: ${text}`);
  return moduleOf(`standIn(${JSON.stringify(lines)})`, exported);
}

const moduleOf = (standIn: string, exported: string[]) => `// Written by scripts/compile-statements.ts.
import { standIn, standInFor } from "../src/db/stand-in.ts";
const { expression, ${OWN.join()} } = ${standIn};
export { ${OWN.join()} };
${exported
  .filter((name) => !OWN.includes(name))
  .map((name) => `export const ${name} = /* @__PURE__ */ expression("${name}");\n`)
  .join("")}`;

export interface BuiltQuery {
  sql: string;
  params: unknown[];
}

/**
 * The statements of modules, in the order in which they are compiled.
 *
 * @param standIn the module that stands for drizzle, if any.
 */
export async function evaluate(
  entries: string[],
  standIn?: string,
): Promise<{ queries: BuiltQuery[]; drizzle: typeof Drizzle }> {
  const virtual: { [path: string]: string | undefined } = {
    // Builds everything at last, so that every statement is compiled.
    lazy: `const all = [];
      export function lazy(build) {
        let built;
        const get = () => (built ??= { value: build() }).value;
        all.push(get);
        return get;
      }
      export function buildAll() {
        const values = [];
        for (const get of all) values.push(get());
        return values;
      }`,
    workers: "export class DurableObject {}",
    drizzle: standIn,
  };
  const plugin: Plugin = {
    name: "statements",
    setup(build) {
      const replace = (filter: RegExp, path: string) =>
        build.onResolve({ filter }, () => ({ path, namespace: "virtual" }));
      replace(/\/lazy\.ts$/, "lazy");
      replace(/^cloudflare:workers$/, "workers");
      if (standIn !== undefined) replace(/^drizzle-orm/, "drizzle");
      build.onLoad({ filter: /.*/, namespace: "virtual" }, ({ path }) => ({
        contents: virtual[path] ?? "",
        // The same paths as from the folder of the stand-in, which may be missing.
        resolveDir: join(ROOT, "src"),
      }));
    },
  };
  const { outputFiles } = await build({
    stdin: {
      contents: [
        ...entries.map((entry) => `import ${JSON.stringify(resolve(ROOT, entry))};`),
        'export { buildAll } from "./src/lazy.ts";',
        'import * as drizzle from "drizzle-orm";',
        'import * as core from "drizzle-orm/sqlite-core";',
        "export const exported = { ...drizzle, ...core };",
      ].join("\n"),
      resolveDir: ROOT,
    },
    nodePaths: [join(ROOT, "node_modules")],
    bundle: true,
    format: "esm",
    target: "es2024",
    write: false,
    logLevel: "silent",
    plugins: [plugin],
  });
  const code = `data:text/javascript,${encodeURIComponent(outputFiles[0]?.text ?? "")}`;
  const { buildAll, exported } = (await import(code)) as { buildAll: () => unknown[]; exported: typeof Drizzle };
  const built = buildAll().filter((value) => typeof value === "object" && value !== null && "sql" in value);
  return { queries: built as BuiltQuery[], drizzle: exported };
}

/** SQL with its parameters in their places, as the stand-in reads it. @throws Error when it cannot. */
function textOf({ sql, params }: BuiltQuery, drizzle: typeof Drizzle): string {
  const parts = sql.split("?");
  if (parts.length !== params.length + 1) throw new Error(`A question mark is no parameter: ${sql}`);
  return parts.reduce((text, part, index) => `${text}?${written(params[index - 1], sql, drizzle)}${part}`);
}

function written(param: unknown, sql: string, drizzle: typeof Drizzle): string {
  if ((typeof param === "number" && Number.isInteger(param) && param >= 0) || typeof param === "string")
    return JSON.stringify(param);
  const placeholder = drizzle.is(param, drizzle.Param) ? param.value : param;
  const value = {};
  const converts = drizzle.is(param, drizzle.Param) && param.encoder.mapToDriverValue(value) !== value;
  if (!drizzle.is(placeholder, drizzle.Placeholder) || converts)
    throw new Error(`A parameter has no plain value: ${sql}`);
  return placeholder.name;
}

/** Characters. A statement that has fewer in common with the one before is written whole, so that reading it takes few lines. */
const LEAST_IN_COMMON = 20;

/** The lines of `readStatement`. Statements that begin alike follow each other. */
function linesOf(statements: ReadonlyMap<string, string>): string {
  let before = "";
  const lines = [...statements]
    .toSorted(([, a], [, b]) => (a < b ? -1 : 1))
    .map(([name, text]) => {
      const shorter = Math.min(text.length, before.length);
      const begin = count(shorter, (place) => text[place] === before[place]);
      const end = count(shorter - begin, (place) => text.at(-1 - place) === before.at(-1 - place));
      before = text;
      return begin < LEAST_IN_COMMON
        ? `${name} 0 0 ${text}`
        : `${name} ${begin} ${end} ${text.slice(begin, text.length - end)}`;
    });
  return ["", ...lines, ""].join(SEPARATOR);
}

/** The number of places from the first on for which something is so. */
function count(most: number, isSo: (place: number) => boolean): number {
  let places = 0;
  while (places < most && isSo(places)) places++;
  return places;
}

if (import.meta.main) {
  const module = await compileStatements();
  mkdirSync(FOLDER, { recursive: true });
  if (!existsSync(STAND_IN) || readFileSync(STAND_IN, "utf8") !== module) {
    // Another build may read it.
    writeFileSync(`${STAND_IN}.${process.pid}`, module);
    renameSync(`${STAND_IN}.${process.pid}`, STAND_IN);
  }
}

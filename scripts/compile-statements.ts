// Writes .dist/drizzle-orm.ts, which the bundle has in the place of drizzle: the SQL of every statement. wrangler runs it before each build.
// It evaluates the Worker twice: with drizzle for the SQL, and with src/db/stand-in.ts for the calls by which the bundle looks it up.
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import type * as Drizzle from "drizzle-orm";
import { build, type Plugin } from "esbuild";
import { readStatements } from "../src/db/stand-in.ts";
import { writeStatements } from "./write-statements.ts";

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
  const called = "standInFor((calls) => ({ sql: calls, params: [] }))";
  const { queries, drizzle } = await evaluate(entries);
  const exported = Object.keys(drizzle);
  const { queries: calls } = await evaluate(entries, moduleOf(called, exported));
  if (queries.length !== calls.length) throw new Error("The statements with drizzle and with the stand-in differ");
  const statements = new Map<string, string>();
  for (const [index, { sql: call }] of calls.entries()) {
    const text = textOf(queries[index] as BuiltQuery, drizzle);
    const other = statements.get(call) ?? text;
    if (other !== text) throw new Error(`Two statements have one name. Change one of them:\n${text}\n${other}`);
    statements.set(call, text);
  }
  const written = writeStatements(statements);
  const read = readStatements(written);
  for (const [call, text] of statements) if (read(call) !== text) throw new Error(`This is not read again: ${text}`);
  return moduleOf(`standIn(${JSON.stringify(written)})`, exported);
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

if (import.meta.main) {
  const module = await compileStatements();
  mkdirSync(FOLDER, { recursive: true });
  if (!existsSync(STAND_IN) || readFileSync(STAND_IN, "utf8") !== module) {
    // Another build may read it.
    writeFileSync(`${STAND_IN}.${process.pid}`, module);
    renameSync(`${STAND_IN}.${process.pid}`, STAND_IN);
  }
}

// npm run generate:statements: writes drizzle/statements.ts, the SQL of every statement by its name. wrangler runs it before each build.
// With --check, it fails when that would change the file.
import { existsSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { join, relative, resolve } from "node:path";
import { build, type Plugin } from "esbuild";
import { prepareEach } from "./sqlite.ts";

const ROOT = join(import.meta.dirname, "..");
/** The module with the SQL. */
export const STATEMENTS = join(ROOT, "drizzle/statements.ts");
/** Calls of functions that compile statements, and the types that look like them. */
const CALL = /(?<![.\w]|function |typeof )compile\w*(?=[<(])/g;

/**
 * The SQL of the statements of modules and of all that they import, by their names.
 *
 * @throws Error when a statement cannot be built or is not seen, or when two have one name.
 */
export async function textsOf(entries = ["src/index.ts"], root = ROOT): Promise<Map<string, string>> {
  const places: string[] = [];
  const statement = join(import.meta.dirname, "statement.ts");
  const plugin: Plugin = {
    name: "statements",
    setup(build) {
      build.onResolve({ filter: /\/statement\.ts$/ }, () => ({ path: statement }));
      build.onResolve({ filter: /^cloudflare:workers$/ }, ({ path }) => ({ path, namespace: "workers" }));
      build.onLoad({ filter: /.*/, namespace: "workers" }, () => ({ contents: "export class DurableObject {}" }));
      build.onLoad({ filter: /\/(?:src|test)\/.*\.ts$/ }, ({ path }) => {
        const contents = readFileSync(path, "utf8").replace(CALL, (name, start: number, text: string) => {
          const line = text.slice(0, start).split("\n").length;
          places.push(`${relative(root, path)}:${line}`);
          return `reached(${JSON.stringify(places.at(-1))}, ${name})`;
        });
        return { contents, loader: "ts" };
      });
    },
  };
  const { outputFiles } = await build({
    stdin: {
      contents: [...entries.map((entry) => resolve(root, entry)), statement]
        .map((path) => `export * from ${JSON.stringify(path)};`)
        .join("\n"),
      resolveDir: root,
    },
    inject: [statement],
    nodePaths: [join(ROOT, "node_modules")],
    bundle: true,
    format: "esm",
    target: "es2024",
    write: false,
    logLevel: "silent",
    plugins: [plugin],
  });
  const code = `data:text/javascript,${encodeURIComponent(outputFiles[0]?.text ?? "")}`;
  try {
    const module = (await import(code)) as typeof import("./statement.ts");
    return module.textsOf(places);
  } catch (error) {
    // Without its stack, which would show the whole module as an address.
    if (error instanceof Error) error.stack = String(error);
    throw error;
  }
}

/** Words of SQL that begin a line, so that a person can read and compare it. In quotes they are none. */
const LINES =
  /'(?:[^']|'')*'|"[^"]*"|(?<!delete) (?=(?:select|from|where|order by|limit|returning|set|values|union all|on conflict) )/g;

export function moduleOf(texts: ReadonlyMap<string, string>): string {
  // By their texts: similar ones stand side by side, so that gzip finds what they share.
  const entries = [...texts]
    .toSorted(([a, one], [b, other]) => (one + a < other + b ? -1 : 1))
    .map(([name, text]) => {
      const lines = text.replace(LINES, (part) => (part === " " ? "\n" : part)).replaceAll(/\\|`|\$(?=\{)/g, "\\$&");
      return `  "${name}": \`${lines}\`,\n`;
    });
  return `// Written by npm run generate:statements.
/** The SQL of each statement by its name. A parameter is a colon and a name. */
export const STATEMENTS: { readonly [name: string]: string } = {
${entries.join("")}};
`;
}

/** The module as it has to be now. @throws Error when D1 would refuse a statement. */
async function presentModule(): Promise<string> {
  const texts = await textsOf();
  prepareEach(texts);
  return moduleOf(texts);
}

/** Bundles the statements as they are now, whatever is in the file. */
export const presentStatements: Plugin = {
  name: "present statements",
  setup(build) {
    build.onLoad({ filter: /\/drizzle\/statements\.ts$/ }, async ({ path }) =>
      path === STATEMENTS ? { contents: await presentModule(), loader: "ts" } : undefined,
    );
  },
};

if (import.meta.main) {
  const module = await presentModule();
  if (!existsSync(STATEMENTS) || readFileSync(STATEMENTS, "utf8") !== module) {
    if (process.argv.includes("--check"))
      throw new Error("drizzle/statements.ts is not that of src/: npm run generate:statements");
    // Another build may read it.
    writeFileSync(`${STATEMENTS}.${process.pid}`, module);
    renameSync(`${STATEMENTS}.${process.pid}`, STATEMENTS);
  }
}

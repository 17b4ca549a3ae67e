import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { defineConfig } from "oxlint";

/** The folders of `src/`, from the top. Each may import those of the lines below its own. Above all are the resources. */
const LAYERS = [
  ["changes", "jobs", "mcp"],
  ["feed", "idempotency"],
  ["http"],
  ["auth", "db", "log"],
  ["exact", "hash"],
];
const SRC = join(import.meta.dirname, "src");
const folders = readdirSync(SRC, { withFileTypes: true }).flatMap((entry) => (entry.isDirectory() ? entry.name : []));
LAYERS.unshift(folders.filter((folder) => existsSync(join(SRC, folder, "routes.ts"))));
for (const folder of folders)
  if (!LAYERS.flat().includes(folder)) throw new Error(`src/${folder} has no routes.ts and is in no layer.`);
/** What every folder may import. These may import `exact`. */
const SHARED = ["operation", "env", "errors", "isolate-cache", "lazy", "local-api-key", "name"];

const only = (files: string[], group: string[]) => ({
  files,
  rules: {
    "eslint/no-restricted-imports": [
      "error",
      { patterns: [{ group, message: "See the folders in docs/architecture.md." }] },
    ] as ["error", object],
  },
});

const layers = LAYERS.flatMap((line, depth) =>
  line.map((folder) => {
    const closed = LAYERS.slice(0, depth + 1)
      .flat()
      .filter((other) => other !== folder);
    // Of another resource, a resource may import the table and the shape.
    const open = depth === 0 ? ["!../*/{table,shape}.ts"] : [];
    // The SQL of the statements is no source of a layer.
    const above = ["../../*/**", "!../../drizzle/statements.ts", "../{app,app-type,index,v1}.ts"];
    return only([`src/${folder}/*.ts`], [...above, ...closed.map((other) => `../${other}/**`), ...open]);
  }),
);

/** The engine of the webhooks has a folder of its own. It uses the rows of the database, and nothing of a request. */
const engine = only(
  ["src/webhooks/engine/*.ts"],
  ["../../*.ts", "../../*/**", "!../../{db,exact,feed}/**", "!../../log/failure.ts", "../*.ts", "!../{table,url}.ts"],
);

/** What changes of `src/` change the pages, `build.ts` takes from `content.ts`. */
const pages = only(
  ["openapi/{badges,code,diagram,discovery,guides,marks,packages,pages,public-files,reference,samples,search}.ts"],
  ["../src/**", "./{describe,document,failures,headers,links,operation}.ts", "./resources/**"],
);

export default defineConfig({
  plugins: ["typescript", "unicorn", "oxc", "import", "vitest", "promise"],
  categories: { correctness: "error", suspicious: "error" },
  rules: {
    // Types end at the edges (bindings, JSON, rows): what is asserted there is tested.
    "typescript/no-unsafe-type-assertion": "off",
    // Code points are what is counted here.
    "typescript/no-misused-spread": "off",
    // How a caller names the placeholders of a query that is compiled.
    "typescript/no-unnecessary-type-parameters": "off",
    // `fc.assert` is how fast-check's own documentation is written, `z._default` how zod names it.
    "import/no-named-as-default-member": "off",
    "eslint/no-underscore-dangle": "off",
    // A parameter may have the name of what it is.
    "eslint/no-shadow": "off",
    "unicorn/consistent-function-scoping": "off",
    // Properties over generated input assert in helpers and under conditions, and name the input in the second argument.
    "vitest/no-standalone-expect": "off",
    "vitest/no-conditional-expect": "off",
    "vitest/valid-expect": ["error", { maxArgs: 2 }],
    "vitest/expect-expect": ["error", { assertFunctionNames: ["expect", "expect*", "fc.assert"] }],
  },
  overrides: [
    {
      files: ["src/**/*.ts"],
      rules: {
        "eslint/no-restricted-properties": [
          "error",
          { object: "c", property: "header", message: 'Add headers to c.get("headers"), which `json` sends.' },
        ],
      },
    },
    ...layers,
    engine,
    pages,
    only([`src/{${SHARED.join()}}.ts`], ["./*/**", "!./exact/**"]),
  ],
  ignorePatterns: [
    "drizzle/statements.ts",
    "src/worker-configuration.d.ts",
    "client/src/fields.ts",
    "client/src/schema.ts",
    "bench/bindings.js",
    "openapi/page.js",
  ],
});

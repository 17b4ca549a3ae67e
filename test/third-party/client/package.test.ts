import { spawnSync } from "node:child_process";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { build } from "esbuild";
import { beforeAll, describe, expect, inject, test } from "vitest";
import { link, newProject } from "../../built/project.ts";

// Tests the archive of `npm pack`, as a registry and a strict client project see it.

const PROGRAM = `
import { type Animal, type Attempt, PetStore, PetStoreError, type PetStoreErrorCode } from "@petstore/client";

const shown: unknown[] = [];

export async function sell(baseUrl: string, apiKey: string, show: (animal: Animal) => void): Promise<bigint | undefined> {
  const onAttempt = ({ operation, status, retryIn }: Attempt) => shown.push(operation, status, retryIn);
  const store = new PetStore({ baseUrl, apiKey: async () => apiKey, onAttempt, userAgent: undefined });
  const { animal, etag, replayed } = await store.pets.create({ name: "Rex", categoryId: 9007199254740993n });
  const exact: bigint = animal.categoryId;
  for await (const animal of store.pets.list({ status: "available", id: [1, 2n, "3"] })) show(animal);
  const page = await store.pets.list({ limit: 20 }).page();
  await page.next({ signal: undefined, timeout: 1_000, retry: { attempts: 2, totalTime: undefined } });
  const all: Animal[] = await store.pets.list().all(100);
  all.forEach(show);
  for await (const { id, etag } of store.pets.list({ etags: true, sort: "-id" }, { maxAge: 5 })) shown.push(id, etag.length);
  const known = await store.categories.get(1, { ifNoneMatch: etag });
  if (!known.notModified) shown.push(known.category.name);
  shown.push((await store.categories.get(1)).category.name, (await store.orders.inventory()).inventory.sold);
  const count: number = await store.pets.createMany([{ name: "Rex", categoryId: "1" }], {
    idempotencyKey: undefined,
    onProgress: ({ created, animals }) => shown.push(created + 1, animals[0]?.id),
  });
  shown.push(count);
  const session = store.session(undefined);
  await session.pets.update(animal.id, { status: "sold" }, { ifMatch: etag });
  try {
    const { order } = await store.orders.place({ petId: animal.id });
    return replayed ? exact : order.petId;
  } catch (error) {
    if (!(error instanceof PetStoreError)) throw error;
    const code: PetStoreErrorCode = error.code;
    if (code === "pet_not_available") return undefined;
    throw error;
  }
}

export async function mistakes(store: PetStore): Promise<void> {
  // @ts-expect-error -- there is no such status
  await store.pets.create({ name: "Rex", categoryId: 1, status: "gone" });
  // @ts-expect-error -- an id is a bigint
  const id: number = (await store.orders.get(1)).order.id;
  // @ts-expect-error -- the animal is missing
  await store.orders.place({});
  // @ts-expect-error -- the list was not asked for versions
  for await (const { etag } of store.pets.list({ status: "sold" })) shown.push(etag);
  // @ts-expect-error -- there may be nothing new
  shown.push((await store.orders.get(1, { ifNoneMatch: "*" })).order.id);
  // @ts-expect-error -- a sort is by id
  store.pets.list({ sort: "name" });
  // @ts-expect-error -- an order has no name
  store.orders.list({ name: id });
}
`;

const project = newProject();
beforeAll(() => {
  mkdirSync(join(project, "node_modules/@types"));
  for (const name of ["@types/node", "undici-types"]) link(project, name);
});

/** The compiler of this project, the last one of the previous generation, and the oldest one that the client's README names. */
const COMPILERS = {
  "TypeScript 7": join(import.meta.dirname, "../../../node_modules/typescript/bin/tsc"),
  "TypeScript 5.9": join(import.meta.dirname, "../node_modules/typescript/bin/tsc"),
  "TypeScript 5.0": join(import.meta.dirname, "../node_modules/typescript50/bin/tsc"),
};

/** Compiles a program and the declarations of the client with TypeScript's strictest options. */
function compile(
  program: string,
  options: object,
  compiler: keyof typeof COMPILERS,
): { status: number | null; output: string } {
  const compilerOptions = {
    strict: true,
    exactOptionalPropertyTypes: true,
    noUncheckedIndexedAccess: true,
    noPropertyAccessFromIndexSignature: true,
    skipLibCheck: false,
    outDir: "compiled",
    rootDir: ".",
    target: "es2022",
    types: [],
    ...options,
  };
  writeFileSync(join(project, "program.ts"), program);
  writeFileSync(join(project, "tsconfig.json"), JSON.stringify({ compilerOptions, files: ["program.ts"] }));
  const { status, stdout, stderr } = spawnSync(process.execPath, [COMPILERS[compiler], "-p", project], {
    encoding: "utf8",
  });
  return { status, output: stdout + stderr };
}

function run(tool: string, args: string[]): { status: number | null; output: string } {
  const { status, stdout, stderr } = spawnSync(join(import.meta.dirname, "../node_modules/.bin", tool), args, {
    encoding: "utf8",
  });
  return { status, output: stdout + stderr };
}

test("publint reports nothing about the client, with its strictest options", () => {
  const { status, output } = run("publint", ["run", "--strict", inject("client")]);
  expect(status, output).toBe(0);
  expect(output).toContain("All good!");
});

// Promise: types
test("the types of the client resolve with every way to import ECMAScript modules", () => {
  const { status, output } = run("attw", [inject("client"), "--profile", "esm-only", "--no-emoji"]);
  expect(status, output).toBe(0);
});

describe.each(Object.keys(COMPILERS) as (keyof typeof COMPILERS)[])("with %s", (compiler) => {
  const runtimes: [name: string, options: object][] = [
    ["of a browser", { module: "esnext", moduleResolution: "bundler", lib: ["es2022", "dom"] }],
    ["of a web worker", { module: "esnext", moduleResolution: "bundler", lib: ["es2022", "webworker"] }],
    ["of Node.js", { module: "nodenext", lib: ["es2022"], types: ["node"] }],
  ];
  // The types of Node.js need a newer compiler than the client.
  // Promise: types
  test.each(compiler === "TypeScript 5.0" ? runtimes.slice(0, 2) : runtimes)(
    "a strict project %s compiles, the declarations of the client included",
    (_runtime, options) => {
      expect(compile(PROGRAM, options, compiler)).toEqual({ status: 0, output: "" });
    },
  );

  test("a mistake does not compile", () => {
    const program = `${PROGRAM}\nnew PetStore({ baseUrl: 1, apiKey: "" });\n`;
    const { status, output } = compile(program, { module: "nodenext", lib: ["es2022", "dom"] }, compiler);
    expect(status).not.toBe(0);
    expect(output).toContain("Type 'number' is not assignable to type");
  });
});

test("the README of the package has the program that imports animals, and no link to a file outside", () => {
  const readme = readFileSync(join(project, "node_modules/@petstore/client/README.md"), "utf8");
  expect([...readme.matchAll(/\]\((?!https:|#)[^)]*\)/g)]).toEqual([]);
  const program = readFileSync("examples/import.mjs", "utf8");
  expect(readme).toContain(program.slice(program.indexOf("import {")));
});

test("a bundle contains only the parts that it imports", async () => {
  expect(await bundle(`import "@petstore/client";`)).toBe("");
  const error = await bundle(`export { PetStoreError } from "@petstore/client";`);
  expect(error).not.toContain("Idempotency-Key");
  expect(error.length).toBeLessThan(1_000);
});

/** Bundles and minifies a program of the project for a browser. */
async function bundle(contents: string): Promise<string> {
  const stdin = { contents, resolveDir: project };
  const options = { bundle: true, minify: true, format: "esm", platform: "browser", logLevel: "error" } as const;
  return (await build({ stdin, ...options, write: false })).outputFiles[0]?.text ?? "";
}

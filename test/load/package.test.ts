import { execFile } from "node:child_process";
import { copyFileSync, existsSync, mkdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { build } from "esbuild";
import { convertV4MiniflareOptions, Miniflare } from "miniflare";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { grantProductionKey } from "../../scripts/production-service.ts";
import { type BuiltService, startBuiltService } from "../built/service.ts";
import { compile, link, newProject } from "./project.ts";

// `npm pack`, installed in a project of somebody else.

const PROGRAM = `
import { type Animal, PetStore, PetStoreError, type PetStoreErrorCode } from "@petstore/client";

export async function sell(baseUrl: string, apiKey: string, show: (animal: Animal) => void): Promise<bigint | undefined> {
  const store = new PetStore({ baseUrl, apiKey });
  const { animal, etag, replayed } = await store.pets.create({ name: "Rex", categoryId: 9007199254740993n });
  const exact: bigint = animal.categoryId;
  for await (const animal of store.pets.list({ status: "available", id: [1, 2n, "3"] })) show(animal);
  const page = await store.pets.list({ limit: 20 }).page();
  await page.next();
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
  // @ts-expect-error -- an order has no name
  store.orders.list({ name: id });
}
`;

let service: BuiltService;
let project: string;
beforeAll(async () => {
  service = await startBuiltService();
  project = newProject();
  mkdirSync(join(project, "node_modules/@types"));
  for (const name of ["@types/node", "undici-types"]) link(project, name);
});
afterAll(async () => {
  await service.harness.close();
  rmSync(project, { recursive: true });
});

describe.each([
  ["of a browser", { module: "esnext", moduleResolution: "bundler", lib: ["es2022", "dom"] }],
  ["of a web worker", { module: "esnext", moduleResolution: "bundler", lib: ["es2022", "webworker"] }],
  ["of Node.js", { module: "nodenext", lib: ["es2022"], types: ["node"] }],
])("a strict project %s", (_runtime, options) => {
  test("compiles, the declarations of the client included", () => {
    expect(compile(project, PROGRAM, options)).toBe("");
  });
});

describe("the program that imports animals", () => {
  // The Node of the machine may be the oldest that the client supports.
  const runtimes = [process.execPath, "/usr/bin/node"].filter((path) => existsSync(path));

  test.each(runtimes)("goes on after a crash and creates none twice, with %s", async (node) => {
    const key = await grantProductionKey(service.worker);
    copyFileSync("examples/import.mjs", join(project, "import.mjs"));
    const env = {
      ...process.env,
      BASE: `${service.url.origin}/v1`,
      KEY: key,
      FILE: join(project, `${crypto.randomUUID()}.json`),
    };
    const run = (timeout?: number) =>
      promisify(execFile)(node, [join(project, "import.mjs")], { env, timeout, killSignal: "SIGKILL" });
    await expect(run(1_000)).rejects.toMatchObject({ killed: true });
    const { stdout } = await run();
    const names = stdout.trim().split("\n").slice(-150);
    for (const [index, line] of names.entries()) {
      expect(line).toMatch(new RegExp(`^\\d+ Animal ${index + 1} ${2n ** 62n + BigInt(index + 1)}$`));
    }
    expect((await run()).stdout).toBe(stdout);
  });

  test("has few lines", () => {
    const lines = readFileSync("examples/import.mjs", "utf8").split("\n");
    expect(lines.filter((line) => line !== "" && !line.startsWith("//")).length).toBeLessThan(20);
  });
});

describe("the README of the package", () => {
  const readme = () => readFileSync(join(project, "node_modules/@petstore/client/README.md"), "utf8");

  test("has no link that leads out of the package", () => {
    expect([...readme().matchAll(/\]\((?!https:|#)[^)]*\)/g)]).toEqual([]);
  });

  test("has the program that imports animals", () => {
    const program = readFileSync("examples/import.mjs", "utf8");
    expect(readme()).toContain(program.slice(program.indexOf("import {")));
  });
});

test("a Worker runs it", async () => {
  const source = `
    import { PetStore } from "@petstore/client";
    export default {
      async fetch(_request, { BASE_URL, API_KEY }) {
        const session = new PetStore({ baseUrl: BASE_URL, apiKey: API_KEY }).session();
        const { animal } = await session.pets.create({ name: "Rex", categoryId: 2n ** 62n + 1n, status: "sold" });
        const names = [];
        for await (const { id, categoryId } of session.pets.list({ status: "sold" })) names.push([id, categoryId].join());
        return Response.json({ id: String(animal.id), names, bookmark: session.bookmark });
      },
    };`;
  const script = await bundle(source);
  const bindings = { BASE_URL: `${service.url.origin}/v1`, API_KEY: service.key };
  const miniflare = new Miniflare(
    convertV4MiniflareOptions({ modules: true, script, bindings, compatibilityDate: "2026-01-01" }),
  );
  try {
    const response = await miniflare.dispatchFetch("http://shop.test/");
    const { id, names, bookmark } = (await response.json()) as { id: string; names: string[]; bookmark: string };
    expect(names).toEqual([`${id},4611686018427387905`]);
    expect(bookmark).toMatch(/^[0-9a-f-]{59}$/);
  } finally {
    await miniflare.dispose();
  }
});

test("a bundle has only the parts that it imports", async () => {
  expect(await bundle(`import "@petstore/client";`)).toBe("");
  const error = await bundle(`export { PetStoreError } from "@petstore/client";`);
  expect(error).not.toContain("Idempotency-Key");
  expect(error.length).toBeLessThan(1_000);
});

/** A minified program of the project, as for a browser. */
async function bundle(contents: string): Promise<string> {
  const stdin = { contents, resolveDir: project };
  const options = {
    stdin,
    bundle: true,
    minify: true,
    format: "esm",
    platform: "browser",
    write: false,
    logLevel: "error",
  } as const;
  const { outputFiles } = await build(options);
  return outputFiles[0]?.text ?? "";
}

import { execFileSync, spawnSync } from "node:child_process";
import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, expect, test } from "vitest";
import { temporaryFolder } from "../built/folder.ts";

// Tests the declarations of `AppType` in a strict project of a client developer, with only Hono and TypeScript.

const ROOT = join(import.meta.dirname, "../..");
const TSC = join(ROOT, "node_modules/typescript/bin/tsc");

const GOOD = `
import { hc } from "hono/client";
import type { AppType } from "./petstore/src/app-type.ts";

const client = hc<AppType>("https://pets.example");

export async function nameOf(petId: string): Promise<string | undefined> {
  const response = await client.v1.pets[":petId"].$get({ param: { petId } });
  if (response.status === 404) {
    const { code, message }: { code: string; message: string } = await response.json();
    throw new Error(code + message);
  }
  return response.status === 200 ? (await response.json()).name : undefined;
}

export async function add(name: string): Promise<number | undefined> {
  const response = await client.v1.pets.$post({ json: { name, categoryId: 1 } });
  return response.status === 201 ? (await response.json()).id : undefined;
}

export async function rename(petId: string, name: string): Promise<string | undefined> {
  const response = await client.v1.pets[":petId"].$patch({ param: { petId }, json: { name } });
  return response.status === 200 ? (await response.json()).name : undefined;
}

export const newestEvents = (cursor: string) => client.v1.events.$get({ query: { cursor, type: "pet.created" } });
`;

const project = temporaryFolder();
beforeAll(() => {
  execFileSync(process.execPath, [TSC, "-p", "scripts/tsconfig.client.json", "--outDir", join(project, "petstore")], {
    cwd: ROOT,
  });
  mkdirSync(join(project, "node_modules"));
  symlinkSync(join(ROOT, "node_modules/hono"), join(project, "node_modules/hono"));
  const compilerOptions = {
    strict: true,
    exactOptionalPropertyTypes: true,
    noUncheckedIndexedAccess: true,
    noEmit: true,
    target: "es2024",
    lib: ["es2024", "dom"],
    module: "esnext",
    moduleResolution: "bundler",
    allowImportingTsExtensions: true,
    types: [],
    // As set by `tsc --init`. The declarations mention Workers bindings, whose types a client does not have.
    skipLibCheck: true,
  };
  writeFileSync(join(project, "tsconfig.json"), JSON.stringify({ compilerOptions, files: ["client.ts"] }));
});

function compile(source: string): { status: number | null; stdout: string } {
  writeFileSync(join(project, "client.ts"), source);
  return spawnSync(process.execPath, [TSC, "-p", project], { encoding: "utf8" });
}

test("a client compiles against them, failures included", () => {
  const { status, stdout } = compile(GOOD);
  expect(stdout).toBe("");
  expect(status).toBe(0);
});

test.each([
  ["categoryId: 1", "categoryId: 1, status: 'gone'"],
  ['"pet.created"', "'gone'"],
])("a request that the interface does not have does not compile: %s", (good, bad) => {
  expect(compile(GOOD.replace(good, bad)).stdout).toMatch(/'"gone"' is not assignable/);
});

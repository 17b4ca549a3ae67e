import { globSync } from "node:fs";
import { resolve } from "node:path";
import { convertV4MiniflareOptions, Miniflare } from "miniflare";
import type { Node } from "typescript/unstable/ast";
import * as is from "typescript/unstable/ast/is";
import { API, type Project, SymbolFlags } from "typescript/unstable/sync";
import { afterAll, expect, test } from "vitest";
import { COMPATIBILITY_DATE } from "../../scripts/bundles.ts";

const PROJECTS = { "tsconfig.json": "src", "client/tsconfig.json": "client/src" };
const api = new API({ cwd: resolve() });
const snapshot = api.updateSnapshot({ openProjects: Object.keys(PROJECTS).map((file) => resolve(file)) });
afterAll(() => api.close());

/** Whether workerd has each name: a global, or `Global.method` of the global itself or of its instances. */
async function inWorkerd(names: Iterable<string>): Promise<{ [name: string]: boolean }> {
  const script = `export default { async fetch(request) {
    const has = (name) => {
      const [global, method] = name.split(".");
      const value = globalThis[global];
      return method === undefined ? value !== undefined : method in Object(value) || method in Object(value?.prototype);
    };
    return Response.json(Object.fromEntries((await request.json()).map((name) => [name, has(name)])));
  } }`;
  const miniflare = new Miniflare(
    convertV4MiniflareOptions({ modules: true, script, compatibilityDate: COMPATIBILITY_DATE }),
  );
  const response = await miniflare.dispatchFetch("http://names.test", {
    method: "POST",
    body: JSON.stringify([...names]),
  });
  const has = (await response.json()) as { [name: string]: boolean };
  await miniflare.dispose();
  return has;
}

function identifiersOf(project: Project, file: string): Node[] {
  const found: Node[] = [];
  const visit = (node: Node): void => {
    if (is.isIdentifier(node)) found.push(node);
    node.forEachChild(visit);
  };
  const source = project.program.getSourceFile(resolve(file)) ?? expect.unreachable(file);
  visit(source);
  return found;
}

const GLOBAL = SymbolFlags.Variable | SymbolFlags.Function | SymbolFlags.Class;

/** The globals that a folder uses, and the methods of globals. Types of workerd that no value names are those of bindings. */
function usesOf(project: Project, folder: string): Set<string> {
  const { checker } = project;
  const globals = new Set<string>();
  const methods = new Map<string, string>();
  for (const file of globSync(`${folder}/**/*.ts`, { exclude: ["**/*.d.ts", "client/src/command/**"] })) {
    const identifiers = identifiersOf(project, file);
    for (const [index, symbol] of checker.getSymbolAtLocation(identifiers).entries()) {
      const path = symbol?.declarations[0]?.path ?? "";
      if (symbol === undefined || !/\/(?:lib\.[^/]+|workers-types\/index)\.d\.ts$/.test(path)) continue;
      const parent = symbol.getParent()?.name.replace(/^Readonly(?=Array|Map|Set)|(?:Constructor|Object)$/g, "");
      const { parent: around } = identifiers[index] ?? expect.unreachable();
      const isType = is.isTypeReferenceNode(around);
      if (parent === undefined && symbol.flags & GLOBAL && !isType) globals.add(symbol.name);
      if (parent === undefined || !(symbol.flags & SymbolFlags.Method)) continue;
      const isBuiltIn = path.includes("/lib.es") && checker.resolveName(parent, SymbolFlags.Value) !== undefined;
      methods.set(`${parent}.${symbol.name}`, isBuiltIn ? "" : parent);
    }
  }
  const isGlobal = (parent: string) => parent === "" || globals.has(parent);
  return globals.union(new Set(methods.keys().filter((name) => isGlobal(methods.get(name) ?? ""))));
}

test.each(Object.entries(PROJECTS))("workerd has what the source of %s uses", async (config, folder) => {
  const uses = usesOf(snapshot.getProject(resolve(config)) ?? expect.unreachable(config), folder);
  for (const use of ["fetch", "Array.map", "JSON.parse", "TextDecoder.decode"]) expect(uses).toContain(use);
  const has = await inWorkerd(uses);
  expect(Object.keys(has).filter((name) => !has[name])).toEqual([]);
});

test("the compiler knows no built-in global that workerd lacks", async () => {
  const { program } = snapshot.getProject(resolve("tsconfig.json")) ?? expect.unreachable();
  const libraries = program.getSourceFileNames().filter((file) => /\/lib\.es[^/]+$/.test(file));
  const texts = libraries.map((file) => program.getSourceFile(file)?.text ?? "");
  const globals = texts.flatMap((text) =>
    [...text.matchAll(/^declare (?:var|function|namespace) (\w+)/gm)].map(([, name = ""]) => name),
  );
  expect(globals).toContain("AsyncDisposableStack");
  const has = await inWorkerd([...globals, "Temporal"]);
  // What workerd lacks so far, and the compiler of a later standard knows.
  expect(Object.keys(has).filter((name) => !has[name])).toEqual(["Temporal"]);
  expect(globals).not.toContain("Temporal");
});

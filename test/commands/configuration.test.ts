import { execFileSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { expect, onTestFinished, test, vi } from "vitest";
import { unstable_readConfig as readConfig } from "wrangler";
import { temporaryFolder } from "../built/folder.ts";
import { Checkout } from "./cloudflare/checkout.ts";

// With the wrangler.toml of this repository as it is: setup.ts.
const { readConfiguration, writeConfiguration } = await vi.importActual<
  typeof import("../../ops/release/configuration.ts")
>("../../ops/release/configuration.ts");

test.each(["staging", "production"])(
  "wrangler reads the same of %s in our configuration as in wrangler.toml",
  (env) => {
    const { alias = {}, build, assets, d1_databases, ...rest } = readConfig({ config: "wrangler.toml", env });
    expect(readConfig({ config: writeConfiguration(readConfiguration(env)), env: "" })).toEqual({
      ...rest,
      configPath: expect.stringMatching(/\.json$/),
      userConfigPath: expect.stringMatching(/\.json$/),
      topLevelName: rest.name,
      targetEnvironment: "",
      definedEnvironments: [],
      alias: Object.fromEntries(Object.entries<string>(alias).map(([module, file]) => [module, resolve(file)])),
      // No release watches files.
      build: { ...build, cwd: resolve(), watch_dir: expect.anything() },
      assets: { ...assets, directory: resolve("public") },
      d1_databases: d1_databases.map((database: object) => ({ ...database, migrations_dir: resolve("drizzle") })),
    });
  },
);

test("the types of the bindings are compared with those of wrangler.toml, not their hash alone", async () => {
  const checkout = new Checkout(onTestFinished);
  checkout.useWrangler();
  expect(await checkout.run("scripts/check-bindings.ts", [])).toEqual({ code: 0, stdout: "", stderr: "" });
  const file = join(checkout.folder, "src/worker-configuration.d.ts");
  const types = readFileSync(file, "utf8");
  writeFileSync(file, types.replace("\tRATE_LIMITER: RateLimit;\n", ""));
  expect(await checkout.run("scripts/check-bindings.ts", [])).toMatchObject({
    code: 1,
    stderr: expect.stringContaining("npm run generate:types"),
  });
});

test("the types of the client are those that the command writes", () => {
  const fresh = temporaryFolder(onTestFinished);
  execFileSync(process.execPath, ["scripts/generate-client-types.ts", fresh]);
  // npm run check:client compares the first line alone, which names the document.
  for (const file of ["schema.ts", "fields.ts"])
    expect(readFileSync(join("client/src", file), "utf8"), file).toBe(readFileSync(join(fresh, file), "utf8"));
});

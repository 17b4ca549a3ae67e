import { resolve } from "node:path";
import { expect, test, vi } from "vitest";
import { unstable_readConfig as readConfig } from "wrangler";

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

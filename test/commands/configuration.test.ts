import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { expect, onTestFinished, test, vi } from "vitest";
import { unstable_readConfig as readConfig } from "wrangler";

// With the wrangler.toml of this repository as it is: setup.ts.
const { INHERITED, readConfiguration, writeConfiguration } = await vi.importActual<
  typeof import("../../ops/release/configuration.ts")
>("../../ops/release/configuration.ts");

const SCHEMA = JSON.parse(readFileSync("node_modules/wrangler/config-schema.json", "utf8")) as {
  definitions: { RawConfig: { properties: object } };
};

test("an environment inherits from the top level what wrangler lets it inherit", () => {
  const folder = mkdtempSync(join(tmpdir(), "petstore-configuration-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const warn = vi.spyOn(console, "warn").mockImplementation(() => {});
  onTestFinished(() => warn.mockRestore());
  const settings = Object.keys(SCHEMA.definitions.RawConfig.properties).filter(
    (key) => key !== "env" && key !== "$schema",
  );
  expect(settings).toContain("d1_databases");
  const inherited = settings.filter((setting) => {
    warn.mockClear();
    // wrangler refuses most of these values, but warns before of what an environment lacks.
    const config = join(folder, "wrangler.json");
    writeFileSync(config, JSON.stringify({ name: "pets", [setting]: [], env: { staging: {} } }));
    try {
      readConfig({ config, env: "staging" });
    } catch {
      // The value has another type.
    }
    return !warn.mock.calls.join().includes(`"${setting}" exists at the top level, but not on "env.staging"`);
  });
  expect(INHERITED.toSorted()).toEqual(inherited.toSorted());
});

test.each(["staging", "production"])(
  "wrangler reads the same of %s in our configuration as in wrangler.toml",
  (env) => {
    const { build, assets, d1_databases, ...rest } = readConfig({ config: "wrangler.toml", env });
    expect(readConfig({ config: writeConfiguration(readConfiguration(env)), env: "" })).toEqual({
      ...rest,
      configPath: expect.stringMatching(/\.json$/),
      userConfigPath: expect.stringMatching(/\.json$/),
      topLevelName: rest.name,
      targetEnvironment: "",
      definedEnvironments: [],
      // No release watches files.
      build: { ...build, cwd: resolve(), watch_dir: expect.anything() },
      assets: { ...assets, directory: resolve("public") },
      d1_databases: d1_databases.map((database: object) => ({ ...database, migrations_dir: resolve("drizzle") })),
    });
  },
);

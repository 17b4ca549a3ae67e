import { globSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { expect, test } from "vitest";

const require = createRequire(import.meta.url);

// Packages of ours depend on @scarf/scarf, whose install script reports who installs what. npm 11 and later leave it out because of
// `allowScripts`; npm 10 runs it, and it stops because of `scarfSettings`.
test.each(["package.json", "test/third-party/package.json"])(
  "%s keeps installations to itself, with every npm",
  async (file) => {
    const manifest = JSON.parse(readFileSync(file, "utf8"));
    expect(manifest.allowScripts).toMatchObject({ "@scarf/scarf": false });

    // The script's own decision, from what `npm ls --long` tells it.
    const { processDependencyTreeOutput } = require("@scarf/scarf");
    const dependencies = { parent: { name: "parent", dependencies: { "@scarf/scarf": { name: "@scarf/scarf" } } } };
    const decision = new Promise((resolve, reject) => {
      processDependencyTreeOutput(resolve, reject)(null, JSON.stringify({ ...manifest, dependencies }));
    });
    await expect(decision).rejects.toThrow("Scarf has been disabled");
  },
);

test.each(globSync(".github/workflows/*"))("%s runs actions by commit: a tag can be moved", (file) => {
  const actions = [...readFileSync(file, "utf8").matchAll(/uses: (.+)/g)].map(([, action]) => action);
  expect(actions.length).toBeGreaterThan(0);
  for (const action of actions) {
    expect(action).toMatch(/^(?:[\w-]+\/[\w-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+|\.\/\.github\/workflows\/[\w-]+\.yml)$/);
  }
});

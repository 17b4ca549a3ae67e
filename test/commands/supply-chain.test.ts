import { globSync, readFileSync } from "node:fs";
import { expect, test } from "vitest";

const INSTALLATIONS = [".", "scripts/client/types", "test/third-party"];

interface LockedPackage {
  /** Set when it is installed under another name. */
  name?: string;
  hasInstallScript?: boolean;
}

/** Those of other packages: `""` is the one of this repository. */
function installScripts(folder: string): string[] {
  const { packages }: { packages: { [path: string]: LockedPackage } } = read(`${folder}/package-lock.json`);
  return Object.entries(packages).flatMap(([path, { name, hasInstallScript = false }]) =>
    hasInstallScript && path !== ""
      ? [name ?? path.slice(path.lastIndexOf("node_modules/") + "node_modules/".length)]
      : [],
  );
}

const read = (file: string) => JSON.parse(readFileSync(file, "utf8"));

test.each(INSTALLATIONS)("%s decides about each package with an install script", (folder) => {
  const { allowScripts = {} } = read(`${folder}/package.json`);
  expect(Object.keys(allowScripts)).toEqual(expect.arrayContaining(installScripts(folder)));
});

// The install script of @scarf/scarf reports installations. npm 11 and later skip it because of `allowScripts`. npm 10 runs it,
// and it stops because of `scarfSettings`.
test.each(INSTALLATIONS.filter((folder) => installScripts(folder).includes("@scarf/scarf")))(
  "%s reports no installation, with any version of npm",
  (folder) => {
    const { allowScripts, scarfSettings } = read(`${folder}/package.json`);
    expect(allowScripts["@scarf/scarf"]).toBe(false);
    expect(scarfSettings.enabled).toBe(false);
  },
);

const USING = globSync(".github/workflows/*").filter((file) => !file.endsWith("/report.yml"));
test.each(USING)("%s names actions by commit, because a tag can be moved", (file) => {
  const actions = [...readFileSync(file, "utf8").matchAll(/uses: (.+)/g)].map(([, action]) => action);
  expect(actions.length).toBeGreaterThan(0);
  for (const action of actions) {
    expect(action).toMatch(/^(?:[\w-]+\/[\w-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+|\.\/\.github\/workflows\/[\w-]+\.yml)$/);
  }
});

import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import type { Result } from "./cloudflare/checkout.ts";
import { addReleases, lastLine, makeSecondGradual, useCloudflare } from "./cloudflare/fixture.ts";

const WORKER = "petstore-staging";
const cloudflare = useCloudflare(WORKER);

function rollback(args: readonly string[] = [], env: Record<string, string> = {}): Promise<Result> {
  const { checkout, api, edge } = cloudflare;
  const all = ["--env", "staging", "--wait", "0", "--url", edge.url, ...args];
  return checkout.run("scripts/rollback.ts", all, { ...api.environment(), ...env });
}

const shares = () => cloudflare.api.workers.all.get(WORKER)?.deployments.at(-1)?.versions;

test("a rollback returns to the previous version or to the given one", async () => {
  const [first, second] = addReleases(cloudflare.api, WORKER, 3).versions;
  const back = await rollback();
  expect(back, back.stderr).toMatchObject({
    code: 0,
    stdout: `\nVersion ${second?.id} gets all requests of ${cloudflare.edge.url}.\n`,
  });
  expect(back.stderr).toContain(`This takes the code of staging back to ${second?.id}, v0.1.0, `);
  expect(shares()).toEqual([{ version_id: second?.id, percentage: 100 }]);

  const named = await rollback(["--to", first?.id ?? ""]);
  expect(named, named.stderr).toMatchObject({ code: 0 });
  expect(shares()).toEqual([{ version_id: first?.id, percentage: 100 }]);
});

test("a rollback finds the account with only a token", async () => {
  const [first] = addReleases(cloudflare.api, WORKER, 2).versions;
  const back = await rollback([], { CLOUDFLARE_ACCOUNT_ID: "" });
  expect(back, back.stderr).toMatchObject({ code: 0 });
  expect(shares()).toEqual([{ version_id: first?.id, percentage: 100 }]);
});

test("a rollback works with wrangler's login", async () => {
  const { api, checkout } = cloudflare;
  const [first] = addReleases(api, WORKER, 2).versions;
  const home = join(checkout.folder, ".git/somebody");
  mkdirSync(join(home, ".wrangler/config"), { recursive: true });
  writeFileSync(
    join(home, ".wrangler/config/default.toml"),
    'oauth_token = "login-of-the-tests"\nexpiration_time = "2099-01-01T00:00:00.000Z"\nscopes = ["account:read"]\n',
  );
  const login = { CLOUDFLARE_API_TOKEN: "", CLOUDFLARE_ACCOUNT_ID: "", HOME: home, XDG_CONFIG_HOME: home };
  const back = await rollback([], login);
  expect(back, back.stderr).toMatchObject({ code: 0 });
  expect(shares()).toEqual([{ version_id: first?.id, percentage: 100 }]);
  expect([...api.tokens]).toEqual(["login-of-the-tests"]);
  expect(back.stderr + back.stdout).not.toContain("login-of-the-tests");
});

test("a rollback ends a gradual release", async () => {
  const [first] = makeSecondGradual(addReleases(cloudflare.api, WORKER, 2));
  const undone = await rollback();
  expect(undone, undone.stderr).toMatchObject({ code: 0 });
  expect(shares()).toEqual([{ version_id: first, percentage: 100 }]);
});

test("a rollback skips a version that never had all requests", async () => {
  const [first] = makeSecondGradual(addReleases(cloudflare.api, WORKER, 3));
  const back = await rollback();
  expect(back, back.stderr).toMatchObject({ code: 0 });
  expect(shares()).toEqual([{ version_id: first, percentage: 100 }]);
});

test("a rollback without a previous version is refused with one line", async () => {
  const nothing = await rollback();
  expect(nothing).toEqual({
    code: 1,
    stdout: "",
    stderr: "petstore-staging has no earlier version to go back to.\n",
  });
  addReleases(cloudflare.api, WORKER, 1);
  expect(lastLine(await rollback())).toBe("petstore-staging has no earlier version to go back to.");
  const unknown = await rollback(["--to", "00000000-0000-0000-0000-000000000000"]);
  expect(lastLine(unknown)).toBe("petstore-staging has no version 00000000-0000-0000-0000-000000000000.");
  expect(lastLine(await rollback(["--to", "v1"]))).toBe(
    "Option '--to <version id>' argument 'v1' is invalid. A version id looks like 00000000-0000-0000-0000-000000000000.",
  );
});

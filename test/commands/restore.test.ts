import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { runWrangler } from "../../scripts/wrangler.ts";
import { addReleases, useSharedAccount } from "./cloudflare/fixture.ts";

const DATABASE = "petstore-production";

const account = useSharedAccount();

/** Adds an animal. Returns its id. */
function create(): unknown {
  const sql = "INSERT INTO pets (name, category_id, status) VALUES ('Rex', 1, 'available') RETURNING id";
  return account.api.databases.query(DATABASE, sql)[0]?.["id"];
}

/** The SQL of the page, in the order in which it has to run. */
const [READ_COUNTER = "", RAISE_COUNTER = ""] = [
  ...readFileSync("docs/releases.md", "utf8").matchAll(/--command "([^"]+)"/g),
].map(([, sql]) => sql);

test.each([0, 2])(
  "after a restore to %i animals as docs/releases.md describes, no id is given out twice",
  async (before) => {
    const { api } = account;
    addReleases(api, DATABASE, 1);
    for (let count = 0; count < before; count++) create();
    const time = ["d1", "time-travel"];
    const target = [DATABASE, "--env=production", "--json"];
    const { bookmark } = JSON.parse(await runWrangler([...time, "info", ...target]));
    const execute = ["d1", "execute", "DB", "--env=production", "--remote", "--json", "--command"];
    for (let count = 0; count < 5; count++) create();

    const [{ results }] = JSON.parse(await runWrangler([...execute, READ_COUNTER]));
    expect(results).toEqual([{ seq: before + 5 }]);
    await runWrangler([...time, "restore", ...target, `--bookmark=${bookmark}`]);
    expect(api.databases.query(DATABASE, "SELECT id FROM pets")).toHaveLength(before);
    await runWrangler([...execute, RAISE_COUNTER.replaceAll("1234", String(before + 5))]);
    expect(create()).toBe(before + 6);
    api.databases.all.clear();
  },
);

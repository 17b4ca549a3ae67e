import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect } from "vitest";
import { runBackup } from "../../../ops/backup/command-line.ts";
import { prepareLocalState } from "../../../scripts/local-state.ts";
import { runHere } from "../cloudflare/fixture.ts";
import type { Operator } from "./account.ts";

const PRODUCTION = "petstore-production";

/** Backs up the animals of the operator's own machine. */
async function backUpLocally(operator: Operator): Promise<void> {
  const { folder } = operator.checkout;
  const state = join(folder, ".wrangler/state");
  await prepareLocalState(state);
  await runHere(runBackup, ["--env", "local", "--persist-to", state, "--to", join(folder, "backups/local")]);
}

/** Asserts that every cursor of the feed has expired: test/events/cursor-expired.test.ts. */
function expectNewFeed({ api }: Operator): void {
  expect(api.databases.query(PRODUCTION, "SELECT type FROM events")).toEqual([{ type: "feed.started" }]);
}

function expectDisabledWebhook({ api }: Operator): void {
  expect(api.databases.query(PRODUCTION, "SELECT enabled, version FROM webhooks")).toEqual([
    { enabled: 0, version: 2 },
  ]);
}

async function loseData({ api }: Operator): Promise<void> {
  api.databases.query(PRODUCTION, "DELETE FROM pets WHERE id = 1; UPDATE pets SET status = 'sold' WHERE id = 2");
}

const petsOf = ({ api }: Operator) =>
  api.databases.query(PRODUCTION, "SELECT id, CAST(category_id AS TEXT) AS category, status, version FROM pets");

/** Puts an account into the state in which a section begins. */
export const BEFORE: { [section: string]: (operator: Operator) => void | Promise<void> } = {
  // The first release of staging, and a later one of production.
  "docs/releases.md, Release": ({ api, checkout }) => {
    checkout.nameResources(["production"]);
    api.workers.all.delete("petstore-staging");
    api.databases.all.delete(api.databases.find("petstore-staging").uuid);
    api.namespaces.all.delete(api.namespaces.titled("petstore-staging-api-keys")?.id ?? "");
  },
  "docs/runbook/lost-data.md, Data was lost": async (operator) => {
    const settings = join(operator.checkout.folder, "wrangler.toml");
    const table = /^\[\[env\.production\.d1_databases\]\]\n(?:.+\n)+/m;
    writeFileSync(
      settings,
      readFileSync(settings, "utf8").replace(table, (lines) => lines.replaceAll(/^/gm, "# ")),
    );
    await loseData(operator);
  },
  "docs/releases.md, Restore the data": async (operator) => {
    await loseData(operator);
    const restore = "npx wrangler d1 time-travel restore petstore-production --env production --timestamp";
    expect(await operator.run(`${restore} ${operator.goodMoment}`)).toMatchObject({ code: 0 });
  },
  "docs/runbook/doctor.md, The doctor found something": ({ api }) => {
    api.databases.query(PRODUCTION, "CREATE TABLE last_backup (moment TEXT)");
    api.databases.query(PRODUCTION, "INSERT INTO last_backup VALUES (datetime('now') || 'Z')");
  },
  "docs/runbook/deleted.md, The Worker": ({ api }) => void api.workers.all.delete(PRODUCTION),
  "docs/runbook/deleted.md, The database": async (operator) => {
    await operator.run("npm run backup -- --env production --to backups/night --bucket petstore-backups");
    const { all } = operator.api.databases;
    all.delete(operator.api.databases.find(PRODUCTION).uuid);
  },
  "docs/backups.md, Make a backup": ({ checkout }) => prepareLocalState(join(checkout.folder, ".wrangler/state")),
  "docs/backups.md, What is in the folder": async (operator) => {
    await operator.run("npm run backup -- --env staging --to backups/local");
  },
  "docs/backups.md, Restore a backup": backUpLocally,
};

/** Compares an account with the promises of a section. */
export const AFTER: { [section: string]: (operator: Operator) => void | Promise<void> } = {
  "docs/observability.md, Queries": ({ checkout }) => {
    expect(readFileSync(join(checkout.folder, "lines.jsonl"), "utf8")).toBe('{"level":"info"}\n');
  },
  "docs/runbook/leaks.md, An API key": (operator) => {
    const { api } = operator;
    expectDisabledWebhook(operator);
    const keys = [...(api.namespaces.titled(`${PRODUCTION}-api-keys`)?.entries.values() ?? [])];
    expect(keys.map(({ value }) => "revokedAt" in JSON.parse(value))).toEqual([true, false]);
  },
  "docs/runbook/lost-data.md, Data was lost": (operator) => {
    const pet = { category: "9007199254740993", status: "available", version: 1 };
    expect(petsOf(operator)).toEqual([1, 2].map((id) => ({ id, ...pet })));
    const counters = "SELECT name FROM sqlite_sequence WHERE name <> 'd1_migrations' AND seq = 5000 ORDER BY name";
    const names = ["categories", "orders", "pets", "webhooks"].map((name) => ({ name }));
    expect(operator.api.databases.query(PRODUCTION, counters)).toEqual(names);
    const { versions, deployments } = operator.api.workers.all.get(PRODUCTION) ?? expect.unreachable();
    const version = versions.find(({ id }) => id === deployments.at(-1)?.versions[0]?.version_id);
    expect(version?.bindings.map(({ name }) => name)).toContain("DB");
  },
  "docs/releases.md, Restore the data": (operator) => {
    expect(petsOf(operator)).toEqual([
      { id: 1, category: "9007199254740993", status: "available", version: 1001 },
      { id: 2, category: "9007199254740993", status: "sold", version: 1 },
    ]);
    expectNewFeed(operator);
  },
  "docs/runbook/webhooks.md, Webhooks": ({ api }) => {
    expect(api.databases.query(PRODUCTION, "SELECT enabled, version FROM webhooks")).toEqual([
      { enabled: 0, version: 4 },
    ]);
  },
  "docs/runbook/webhooks.md, After a rollback to 1.1.0": expectDisabledWebhook,
  "docs/runbook/lost-data.md, The feed lost changes": expectNewFeed,
  "docs/runbook/deleted.md, The database": (operator) => {
    const { api } = operator;
    const { uuid } = api.databases.find(PRODUCTION);
    const version = api.workers.all.get(PRODUCTION)?.versions.at(-1);
    expect(version?.bindings).toContainEqual(expect.objectContaining({ name: "DB", id: uuid }));
    expect(api.databases.query(PRODUCTION, "SELECT id, name FROM pets")).toEqual([
      { id: 1, name: "Rex" },
      { id: 2, name: "Rex" },
    ]);
    const [counter] = api.databases.query(PRODUCTION, "SELECT seq FROM sqlite_sequence WHERE name = 'pets'");
    expect(counter?.["seq"]).toBeGreaterThanOrEqual(1_000_000_002);
    expectDisabledWebhook(operator);
    expectNewFeed(operator);
  },
  "docs/runbook/deleted.md, The Worker": ({ api }) => {
    expect(api.databases.query(PRODUCTION, "SELECT id FROM pets")).toHaveLength(2);
    expect(api.namespaces.all).toHaveLength(2);
  },
};

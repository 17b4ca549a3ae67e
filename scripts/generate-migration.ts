// npm run generate:migration: writes the migration from the newest one to drizzle/tables.ts.
import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { isMigrated } from "./check-migrations.ts";

const [schema, out] = ["drizzle/tables.ts", "drizzle"];
const bin = join(import.meta.dirname, "../node_modules/drizzle-kit/bin.cjs");
const options = ["--dialect", "sqlite", "--schema", schema, "--out", out, ...process.argv.slice(2)];
// Nobody answers without a terminal, where it was once seen to wait.
const timeout = process.stdin.isTTY ? undefined : 60_000;
const { status } = spawnSync(process.execPath, [bin, "generate", ...options], { stdio: "inherit", timeout });
// drizzle-kit 0.31.11 exits 0 when it cannot ask.
if (status !== 0 || !(await isMigrated(schema, out))) {
  console.error(
    "There is no migration to these tables. Run this in a terminal: drizzle-kit asks whether a name was changed.",
  );
  process.exit(1);
}

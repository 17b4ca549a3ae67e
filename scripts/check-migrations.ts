// npm run check:migrations: checks that the SQL in drizzle/ matches drizzle/tables.ts, and that drizzle-kit can follow
// every edit by hand.
import { execFileSync } from "node:child_process";
import { cpSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";

const scratch = mkdtempSync(join(tmpdir(), "petstore-migrations-"));
try {
  drizzleKit("check", "--out", "drizzle");
  cpSync("drizzle", scratch, { recursive: true });
  drizzleKit("generate", "--schema", "drizzle/tables.ts", "--out", relative(".", scratch));
  if (readdirSync(scratch).length > readdirSync("drizzle").length)
    throw new Error("The tables have no migration. Run `npm run generate:migration` and review the SQL.");
  console.log("The migrations match the tables.");
} finally {
  rmSync(scratch, { recursive: true });
}

/** @throws Error that has what it printed. */
function drizzleKit(command: string, ...args: string[]): void {
  const bin = join(import.meta.dirname, "../node_modules/drizzle-kit/bin.cjs");
  execFileSync(process.execPath, [bin, command, "--dialect", "sqlite", ...args], { encoding: "utf8" });
}

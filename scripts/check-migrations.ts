// npm run check:migrations: checks that the SQL in drizzle/ matches the tables in src/*/table.ts, and that drizzle-kit can follow
// every edit by hand.
import { spawnSync } from "node:child_process";
import { cpSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";

const scratch = mkdtempSync(join(tmpdir(), "petstore-migrations-"));
try {
  drizzleKit("check", "--out", "drizzle");
  cpSync("drizzle", scratch, { recursive: true });
  drizzleKit("generate", "--schema", "src/*/table.ts", "--out", relative(".", scratch));
  const generated = readdirSync(scratch).filter((file) => !readdirSync("drizzle").includes(file));
  if (generated.length > 0) {
    throw new Error(
      "The tables in src/*/table.ts have no migration. Run `npm run generate:migration` and review the SQL.",
    );
  }
  console.log("The migrations match the tables.");
} finally {
  rmSync(scratch, { recursive: true });
}

function drizzleKit(command: string, ...args: string[]): void {
  const bin = join(import.meta.dirname, "../node_modules/drizzle-kit/bin.cjs");
  const { status, stdout, stderr } = spawnSync(process.execPath, [bin, command, "--dialect", "sqlite", ...args], {
    encoding: "utf8",
  });
  if (status !== 0) throw new Error(`drizzle-kit ${command} failed.\n${stdout}${stderr}`);
}

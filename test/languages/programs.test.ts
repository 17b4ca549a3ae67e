import { execFile, spawnSync } from "node:child_process";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { beforeAll, describe, expect, test } from "vitest";
import { newSecret, sign } from "../../src/webhooks/engine/signing.ts";
import { temporaryFolder } from "../built/folder.ts";
import { useBuiltService } from "../built/service.ts";
import { type FaultName, startChaosProxy } from "../load/chaos/proxy.ts";
// oxlint-disable-next-line import/no-unassigned-import -- adds what Node.js lacks
import "../world/workerd.ts";
import { NEVER, PROGRAMS, SNIPPETS } from "./table.ts";

// npm run test:languages: what docs/languages.md and docs/guarantees.md say of clients in other languages, tried with Debian's packages.

const PROGRAM_FOLDER = join(import.meta.dirname, "../../examples/clients");
const service = useBuiltService();
const folder = temporaryFolder();

/** Of Debian, or as a command from elsewhere. */
const isInstalled = (name: string) =>
  spawnSync("sh", ["-c", `command -v ${name} || dpkg-query -W -f '\${db:Status-Status}' ${name} | grep -x installed`])
    .status === 0;
const everything = new Set([...PROGRAMS, ...SNIPPETS].flatMap(({ packages }) => packages));
let missing = [...everything].filter((name) => !isInstalled(name));
if (missing.length > 0 && process.getuid?.() === 0 && isInstalled("apt-get")) {
  const env = { ...process.env, DEBIAN_FRONTEND: "noninteractive" };
  spawnSync("apt-get", ["update", "-qq"], { env });
  // One after the other: a name that this Debian lacks would keep out the others.
  for (const name of missing) spawnSync("apt-get", ["install", "-y", "-qq", "--no-install-recommends", name], { env });
  missing = missing.filter((name) => !isInstalled(name));
}

/** What a test is left out for, as its title says it. */
function lackOf(packages: string[]): string {
  const lacks = packages.filter((one) => missing.includes(one));
  return lacks.length === 0 ? "" : ` (left out: this machine lacks ${lacks.join(", ")})`;
}

/** Runs a command in a folder of its own, and returns the lines that it prints. */
async function run(command: string, env: Record<string, string>): Promise<string[]> {
  const { stdout, stderr } = await new Promise<{ stdout: string; stderr: string }>((resolve) => {
    const options = { cwd: folder, env: { ...process.env, PROGRAMS: PROGRAM_FOLDER, ...env }, timeout: 200_000 };
    execFile("bash", ["-ec", command], options, (_error, stdout, stderr) => resolve({ stdout, stderr }));
  });
  const lines = stdout
    .trim()
    .split("\n")
    .map((line) => line.trim());
  return lines[0] === "" ? [stderr] : lines;
}

const query = async (sql: string) => (await (await service.worker.getEnv()).DB.prepare(sql).all()).results;
const countPets = async () => Number((await query("SELECT count(*) AS n FROM pets"))[0]?.["n"]);

async function environment(base: URL, key?: string): Promise<Record<string, string>> {
  const [secret, body] = [newSecret(), JSON.stringify({ name: "\u017Dofie" })];
  const ids = await query("SELECT id FROM pets ORDER BY id LIMIT 2");
  return {
    BASE: new URL("/v1", base).href,
    KEY: service.key,
    IDS: ids.map(({ id }) => String(id)).join(" "),
    CONTENT: `evt_1.1700000000.${body}`,
    SIGNATURES: await sign([newSecret(), secret], "evt_1", 1_700_000_000, body),
    SECRET: secret,
    ...(key === undefined ? {} : { IDEMPOTENCY_KEY: key }),
  };
}

/** The requests of a program whose first creation meets a fault. Without a key, each of them creates an animal. */
async function countRequests(fault: FaultName, command: string, key?: string): Promise<number> {
  let requests = 0;
  const before = await countPets();
  await using proxy = await startChaosProxy(service.url, ({ method }) =>
    method === "POST" && ++requests === 1 ? fault : undefined,
  );
  await run(command, await environment(proxy.url, key));
  expect((await countPets()) - before).toBe(key === undefined ? requests : 1);
  return requests;
}

for (const { name, packages, files = {}, command, repeats, isProgram = false } of PROGRAMS) {
  const lack = lackOf(packages);
  describe(`${name}${lack}`, { skip: lack !== "" }, () => {
    beforeAll(async () => {
      for (const [file, text] of Object.entries(files)) {
        mkdirSync(join(folder, dirname(file)), { recursive: true });
        writeFileSync(join(folder, file), text);
      }
      await query(
        `INSERT INTO pets (name, category_id, status) SELECT value, 1, 'sold' FROM json_each('["Rex","Max","Mia"]')`,
      );
    });

    test.runIf(isProgram)("is exact, finds by several ids, pages and verifies", async () => {
      const before = await countPets();
      expect(await run(command, await environment(service.url))).toEqual([
        "found 2",
        `paged ${before}`,
        "verified true false",
        "created 201 9223372036854775807",
      ]);
      const last = "SELECT name, CAST(category_id AS TEXT) AS category FROM pets ORDER BY id DESC LIMIT 1";
      expect(await query(last)).toEqual([{ name: "\u017Dofie", category: "9223372036854775807" }]);
    });

    test("repeats a creation by itself as the page says", async () => {
      expect({
        "503": await countRequests("503 after the write", command),
        "503 with Retry-After": await countRequests("503 with Retry-After after the write", command),
        "503 with Retry-After and a key": await countRequests(
          "503 with Retry-After after the write",
          command,
          crypto.randomUUID(),
        ),
        lost: await countRequests("connection dropped after the write", command),
        "lost with a key": await countRequests("connection dropped after the write", command, crypto.randomUUID()),
      }).toEqual({ ...NEVER, ...repeats });
    });
  });
}

test("the page shows how these programs verify a webhook", () => {
  const page = readFileSync(join(import.meta.dirname, "../../docs/languages.md"), "utf8");
  const rows =
    page
      .split("## Verifying a webhook")[1]
      ?.split("\n")
      .filter((line) => line.startsWith("| ")) ?? [];
  for (const { name, command, isProgram } of PROGRAMS) {
    if (!isProgram) continue;
    const program = readFileSync(join(PROGRAM_FOLDER, /\bpets\.(?!exe|class)\w+/i.exec(command)?.[0] ?? ""), "utf8");
    const shown = rows.find((row) => row.startsWith(`| ${name} `))?.match(/(?<=`)[^`]*[([][^`]*(?=`)/g) ?? [];
    expect(shown, name).not.toEqual([]);
    for (const code of shown) expect(program).toContain(code);
  }
});

for (const { name, packages, command, prints } of SNIPPETS) {
  const lack = lackOf(packages);
  test(`${name}${lack}`, { skip: lack !== "" }, async () => {
    expect(await run(command, await environment(service.url))).toEqual(prints);
  });
}

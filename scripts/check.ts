// npm run check: runs every check:* script of package.json but those that are apart, two at a time. Prints the output of each when it
// ends, and fails when one of them fails.
import { execFile } from "node:child_process";
import packageJson from "../package.json" with { type: "json" };

/** The longest ones, which start first. */
const LONG = ["check:types", "check:lint"];
/** One needs the history of git, and takes longer than all others. The other comes first: a build writes what it looks at. */
const APART = ["check:expand", "check:statements"];

const all = Object.keys(packageJson.scripts).filter((name) => name.startsWith("check:") && !APART.includes(name));
const queue = [...LONG, ...all.filter((name) => !LONG.includes(name))].values();
const failed: string[] = [];
await Promise.all([runAll(), runAll()]);
if (failed.length > 0) {
  console.error(`Failed: ${failed.join(", ")}`);
  process.exitCode = 1;
}

async function runAll(): Promise<void> {
  for (const name of queue) {
    const { error, output } = await run(name);
    console.log(`> ${name}\n${output}`);
    if (error !== null) failed.push(name);
  }
}

function run(name: string): Promise<{ error: Error | null; output: string }> {
  return new Promise((resolve) => {
    execFile("npm", ["run", "--silent", name], { maxBuffer: Infinity }, (error, stdout, stderr) =>
      resolve({ error, output: stdout + stderr || (error?.message ?? "") }),
    );
  });
}

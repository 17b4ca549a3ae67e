import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { CLIENT } from "./document.ts";

/** Packs the client as for publication. Returns the path of the archive. */
export function packClient(folder: string): string {
  const output = execFileSync("npm", ["pack", "--json", "--pack-destination", folder], {
    cwd: CLIENT,
    encoding: "utf8",
    stdio: ["ignore", "pipe", "ignore"],
  });
  // The output of the build precedes the JSON.
  const [{ filename }]: [{ filename: string }] = JSON.parse(output.slice(output.indexOf("[")));
  return join(folder, filename);
}

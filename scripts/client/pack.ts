import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { CLIENT } from "./document.ts";

/** Packs the client as it would be published. Returns the path of the archive. */
export function packClient(folder: string): string {
  const output = execFileSync("npm", ["pack", "--json", "--pack-destination", folder], {
    cwd: CLIENT,
    encoding: "utf8",
    stdio: ["ignore", "pipe", "ignore"],
  });
  // The build prints before the JSON.
  const [{ filename }]: [{ filename: string }] = JSON.parse(output.slice(output.indexOf("[")));
  return join(folder, filename);
}

import { runWrangler } from "../../scripts/wrangler.ts";

/** Where the bundle is: the one that `npm run deploy:production` would upload. */
export const BUNDLE = ".dist/production";

/** Builds it once for all files of this project. */
export default async function build(): Promise<void> {
  const { code, stdout, stderr } = await runWrangler([
    "deploy",
    "--dry-run",
    "--env",
    "production",
    "--outdir",
    BUNDLE,
  ]);
  if (code !== 0) throw new Error(`The bundle does not build.\n${stdout}${stderr}`);
}

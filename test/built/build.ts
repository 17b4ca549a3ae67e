import type { TestProject } from "vitest/node";
import { buildBundle } from "../../scripts/wrangler.ts";

declare module "vitest" {
  interface ProvidedContext {
    /** The folder of the production bundle. */
    bundle: string;
  }
}

/** Builds the bundle once for all test files of this project. */
export default async function build(project: TestProject): Promise<void> {
  project.provide("bundle", await buildBundle("production"));
}

import type { TestProject } from "vitest/node";
import { buildBundle } from "../../scripts/wrangler.ts";

declare module "vitest" {
  interface ProvidedContext {
    /** The folder of the bundle: of local development for the browser, else of production. */
    bundle: string;
  }
}

/** Builds the bundle once for all test files of this project. */
export default async function build(project: TestProject): Promise<void> {
  project.provide("bundle", await buildBundle(project.name === "browser" ? "local" : "production"));
}

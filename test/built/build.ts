import type { TestProject } from "vitest/node";
import { buildBundle } from "../../scripts/wrangler.ts";

declare module "vitest" {
  interface ProvidedContext {
    /** The folder of the bundle: of local development for the browser, else of production. */
    bundle: string;
  }
}

/** Builds a bundle once for all test files. The root project keeps that of production, which all projects then have. */
export default async function build(project: TestProject): Promise<void> {
  const root = project.vitest.getRootProject();
  if (project.name === "browser") project.provide("bundle", await buildBundle("local"));
  else if (!("bundle" in root.getProvidedContext())) root.provide("bundle", await buildBundle("production"));
}

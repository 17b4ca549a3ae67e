import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestProject } from "vitest/node";
import { packClient } from "../../scripts/client/pack.ts";

declare module "vitest" {
  interface ProvidedContext {
    /** The archive of the client, as published. */
    client: string;
  }
}

/** Packs the client once for all test files of this project, because concurrent builds would write the same files. */
export default function pack(project: TestProject): () => void {
  const folder = mkdtempSync(join(tmpdir(), "petstore-client-"));
  project.provide("client", packClient(folder));
  return () => rmSync(folder, { recursive: true });
}

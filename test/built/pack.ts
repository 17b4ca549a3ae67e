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

/** Packs the client once for all projects, because concurrent builds would write the same files. */
export default function pack({ vitest }: TestProject): (() => void) | undefined {
  const root = vitest.getRootProject();
  if ("client" in root.getProvidedContext()) return undefined;
  const folder = mkdtempSync(join(tmpdir(), "petstore-client-"));
  root.provide("client", packClient(folder));
  return () => rmSync(folder, { recursive: true });
}

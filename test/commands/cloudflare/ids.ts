import { createHash } from "node:crypto";

// The ids of what a test adds to the fake account follow from its name, so that the wrangler.toml of a test knows them before.

export const namespaceId = (title: string) => createHash("sha256").update(title).digest("hex").slice(0, 32);

export const databaseId = (name: string) =>
  namespaceId(name).replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, "$1-$2-$3-$4-$5");

/** The ids of an environment whose resources have the usual names. */
export function idsOf(env: string): { database: string; namespace: string } {
  const worker = `petstore-${env}`;
  return { database: databaseId(worker), namespace: namespaceId(`${worker}-api-keys`) };
}

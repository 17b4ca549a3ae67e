import { vi } from "vitest";
import { idsOf } from "./cloudflare/ids.ts";

// The commands that run in this process read the wrangler.toml of this repository, which names no resources. They see the ids of the fake
// account in it. Commands in a checkout read its own file.
vi.mock(import("../../ops/release/configuration.ts"), async (load) => {
  const actual = await load();
  const readConfiguration: typeof actual.readConfiguration = (env) => {
    const configuration = actual.readConfiguration(env);
    const { database, namespace } = idsOf(env);
    return {
      ...configuration,
      d1_databases: configuration.d1_databases.map((binding) => ({ ...binding, database_id: database })),
      kv_namespaces: configuration.kv_namespaces.map((binding) => ({ ...binding, id: namespace })),
    };
  };
  return {
    ...actual,
    readConfiguration,
    requireId: (env, resource) => idsOf(env)[resource],
  };
});

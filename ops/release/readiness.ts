import { generateKey, randomBase62 } from "../../src/auth/key-format.ts";
import { type KeyRecord, keyRecordName } from "../../src/auth/key-record.ts";
import { openRemote } from "../keys/namespace.ts";
import { oneLine } from "../one-line.ts";
import type { Terminal } from "../terminal.ts";
import type { Cloudflare } from "./cloudflare.ts";
import type { DeployedEnvironment } from "./options.ts";

/** Seconds. The longest smoke test is shorter, and so is every other use. */
export const READINESS_KEY_SECONDS = 15 * 60;

/** An API key that a command makes for itself, and that nobody else sees. */
export interface ReadinessKey {
  key: string;
  /** Never throws: the key ends by itself. */
  remove(): Promise<void>;
}

/**
 * Makes an API key for some minutes, which reads animals unless it is for something else. A request with it needs KV and D1, which no request without a key does, and no
 * operator has to keep a secret for it. It is no argument of a process, and in no output. KV removes its record even when the command cannot.
 */
export async function createReadinessKey(
  cloudflare: Cloudflare,
  namespaceId: string,
  environment: DeployedEnvironment,
  terminal: Terminal,
  { name, scopes }: Pick<KeyRecord, "name" | "scopes"> = { name: "Smoke test", scopes: ["pets:read"] },
): Promise<ReadinessKey> {
  const key = generateKey(environment);
  const now = cloudflare.now();
  const record: KeyRecord = {
    id: `key_${randomBase62(12)}`,
    name,
    scopes,
    createdAt: new Date(now).toISOString(),
    expiresAt: new Date(now + READINESS_KEY_SECONDS * 1_000).toISOString(),
  };
  const entry = await keyRecordName(key);
  const namespace = openRemote(cloudflare, namespaceId);
  await namespace.put(entry, { value: JSON.stringify(record), metadata: record }, READINESS_KEY_SECONDS);
  return {
    key,
    async remove() {
      await namespace.delete(entry).catch((error: unknown) => {
        terminal.say(`The key ${record.id} of this command stays until ${record.expiresAt}: ${oneLine(error)}`);
      });
    },
  };
}

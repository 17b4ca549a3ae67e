#!/usr/bin/env bash
# The persister of @tanstack/query-async-storage-persister 5.104.5 (npm) stores nothing more, of no query, from the first bigint in the data
# of one query on. JSON.stringify refuses the bigint, and the persister drops that error: nothing is rejected or logged. What it stored
# before stays, and comes back as the present data when the page is opened again. With a `serialize` that writes bigints, it stores all.
# Seen: ["Rex"] and ["Max"] without a bigint, ["Rex"] and ["Rex"] with one in another query, then ["Rex"] and ["Max"] with `serialize`.
# Needs: npm, Node.js 20 or later.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm init --yes >/dev/null
npm install --silent --no-audit --no-fund --ignore-scripts @tanstack/query-async-storage-persister@5.104.5 \
  @tanstack/query-persist-client-core@5.104.5 @tanstack/query-core@5.104.5
cat >run.mjs <<'END'
import { setTimeout } from "node:timers/promises";
import { createAsyncStoragePersister } from "@tanstack/query-async-storage-persister";
import { QueryClient } from "@tanstack/query-core";
import { persistQueryClientRestore, persistQueryClientSubscribe } from "@tanstack/query-persist-client-core";

const serialize = (client) => JSON.stringify(client, (_, value) => (typeof value === "bigint" ? String(value) : value));
for (const [id, options] of [
  [5, {}],
  [5n, {}],
  [5n, { serialize }],
]) {
  const entries = new Map();
  const storage = {
    getItem: async (key) => entries.get(key),
    setItem: async (key, text) => void entries.set(key, text),
    removeItem: async (key) => void entries.delete(key),
  };
  const persister = createAsyncStoragePersister({ storage, throttleTime: 50, ...options });
  const queryClient = new QueryClient();
  persistQueryClientSubscribe({ queryClient, persister });
  const printStored = async () => {
    await setTimeout(200);
    const reopened = new QueryClient();
    await persistQueryClientRestore({ queryClient: reopened, persister });
    console.log(JSON.stringify(reopened.getQueryData(["names"])));
  };
  queryClient.setQueryData(["names"], ["Rex"]);
  await printStored();
  queryClient.setQueryData(["animal"], { id });
  queryClient.setQueryData(["names"], ["Max"]);
  await printStored();
}
process.exit();
END
diff - <(node run.mjs) <<'END'
["Rex"]
["Max"]
["Rex"]
["Rex"]
["Rex"]
["Max"]
END
echo "As described."

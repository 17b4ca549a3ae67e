#!/usr/bin/env bash
# dexie 4.4.7 (npm) stores a row with a bigint in an indexed field, and no query over this index finds the row: `orderBy` returns an empty
# list, without an error, where `count` says 2. IndexedDB takes no bigint as a key and leaves the row out of the index. `sortBy`, which
# needs no index, has both rows, and sorts them only if they have numbers.
# Seen, for the numbers 8 and 7, and for 8n and 7n: count, orderBy, aboveOrEqual, sortBy. With fake-indexeddb 6.2.8.
# Needs: npm, Node.js 20 or later.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm init --yes >/dev/null
npm install --silent --no-audit --no-fund --ignore-scripts dexie@4.4.7 fake-indexeddb@6.2.8
cat >run.mjs <<'END'
import "fake-indexeddb/auto";
import Dexie from "dexie";

for (const type of [Number, BigInt]) {
  const database = new Dexie(type.name);
  database.version(1).stores({ animals: "id, categoryId" });
  const { animals } = database;
  await animals.bulkPut([
    { id: "1", categoryId: type(8) },
    { id: "2", categoryId: type(7) },
  ]);
  const found = [
    await animals.orderBy("categoryId").toArray(),
    await animals.where("categoryId").aboveOrEqual(0).toArray(),
    await animals.toCollection().sortBy("categoryId"),
  ];
  console.log(type.name, await animals.count(), ...found.map((rows) => rows.map(({ id }) => id).join() || "none"));
}
END
diff - <(node run.mjs) <<'END'
Number 2 2,1 2,1 2,1
BigInt 2 none none 1,2
END
echo "As described."

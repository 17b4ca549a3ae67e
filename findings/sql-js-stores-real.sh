#!/usr/bin/env bash
# sql.js 1.16.0 (npm, SQLite as WebAssembly) binds a whole number from 2^31 on as REAL, so that a column without a type stores
# 2147483648.0, while 2147483647 is stored as an integer. It reads an integer above 2^53 rounded, without an error, where
# node:sqlite throws.
# Seen: integer 2147483647, real 2147483648.0, and 9007199254740992 for 9007199254740993.
# Needs: npm, Node.js 18 or later.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm init --yes >/dev/null
npm install --silent --no-audit --no-fund --ignore-scripts sql.js@1.16.0
cat >run.cjs <<'END'
const initSqlJs = require("sql.js");

initSqlJs().then(({ Database }) => {
  const database = new Database();
  for (const id of [2147483647, 2147483648])
    console.log(database.exec("SELECT typeof(?1) || ' ' || ?1", [id])[0].values[0][0]);
  console.log(database.exec("SELECT 9007199254740993")[0].values[0][0]);
});
END
diff - <(node run.cjs) <<'END'
integer 2147483647
real 2147483648.0
9007199254740992
END
echo "As described."

#!/usr/bin/env bash
# json-bigint 1.0.0 (npm) takes every number of more than 15 characters for a large integer. With `useNativeBigInt`, it throws for
# a valid fraction, and with `storeAsString`, a fraction is a number or a text, depending on its length.
# Seen: "Cannot convert 3.141592653589793 to a BigInt", and the types number and string.
# Needs: npm, Node.js 18 or later.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm init --yes >/dev/null
npm install --silent --no-audit --no-fund --ignore-scripts json-bigint@1.0.0
cat >run.cjs <<'END'
const jsonBigint = require("json-bigint");

try {
  console.log(jsonBigint({ useNativeBigInt: true }).parse("[9007199254740993, 3.141592653589793]"));
} catch (error) {
  console.log(error.message);
}
console.log(jsonBigint({ storeAsString: true }).parse("[3.1415926535897, 3.141592653589793]").map((value) => typeof value).join());
END
diff - <(node run.cjs) <<'END'
Cannot convert 3.141592653589793 to a BigInt
number,string
END
echo "As described."

#!/usr/bin/env bash
# csv-parse 7.0.3 (npm) with `cast: true` makes one id of two above 2^53, and 0 of the text 0x10, which it takes for a number
# and reads with parseFloat. There is no error.
# Seen: [[9007199254740992,"Rex"],[9007199254740992,"Max"],[0,"Mia"]].
# Needs: npm, Node.js 20 or later.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm init --yes >/dev/null
npm install --silent --no-audit --no-fund --ignore-scripts csv-parse@7.0.3
cat >run.mjs <<'END'
import { parse } from "csv-parse/sync";

console.log(JSON.stringify(parse("9007199254740992,Rex\n9007199254740993,Max\n0x10,Mia\n", { cast: true })));
END
diff - <(node run.mjs) <<<'[[9007199254740992,"Rex"],[9007199254740992,"Max"],[0,"Mia"]]'
echo "As described."

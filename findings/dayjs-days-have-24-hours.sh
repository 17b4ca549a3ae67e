#!/usr/bin/env bash
# dayjs 1.11.23 (npm) with its plugin `timezone`: a day later is 24 hours later, so that the day on which clocks go forward ends an hour
# late, and the other one an hour early. `startOf("day")` and `endOf("day")` are right or wrong by an hour, depending on the zone of the
# machine. Whoever asks for the orders of each day counts an hour of orders twice, or not at all. luxon 3.7.2 is right.
# Seen: below, for 29 March and 25 October 2026 in Berlin, which have 23 and 25 hours, on machines in UTC and in Los Angeles: the
# day and the hour in UTC of the start and the end, and the hours between.
# Needs: npm, Node.js 20 or later.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm init --yes >/dev/null
npm install --silent --no-audit --no-fund --ignore-scripts dayjs@1.11.23 luxon@3.7.2
cat >run.cjs <<'END'
const dayjs = require("dayjs");
const { DateTime } = require("luxon");

dayjs.extend(require("dayjs/plugin/utc"));
dayjs.extend(require("dayjs/plugin/timezone"));
const zone = "Europe/Berlin";
const print = (name, start, end) =>
  console.log(name, ...[start, end].map((at) => new Date(Number(at)).toISOString().slice(8, 13)), (end - start) / 3_600_000);

for (const day of ["2026-03-29", "2026-10-25"]) {
  const start = dayjs.tz(day, zone);
  print("add", start, start.add(1, "day"));
  const noon = dayjs.tz(`${day} 12:00`, zone);
  print("startOf", noon.startOf("day"), noon.endOf("day").add(1, "ms"));
  const right = DateTime.fromISO(day, { zone });
  print("luxon", right, right.plus({ days: 1 }));
}
END
diff - <(
  for zone in UTC America/Los_Angeles; do
    echo "$zone"
    TZ=$zone node run.cjs
  done
) <<'END'
UTC
add 28T23 29T23 24
startOf 28T23 29T22 23
luxon 28T23 29T22 23
add 24T22 25T22 24
startOf 24T22 25T23 25
luxon 24T22 25T23 25
America/Los_Angeles
add 28T23 29T23 24
startOf 28T22 29T22 24
luxon 28T23 29T22 23
add 24T22 25T22 24
startOf 24T23 25T23 24
luxon 24T22 25T23 25
END
echo "As described."

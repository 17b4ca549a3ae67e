#!/usr/bin/env bash
# Miller 6.6.0 (Debian 12) writes text that is not JSON (RFC 8259) when a cell of a CSV file looks like a number of another language:
# 0xff, 0b11, 0o17, .5 and 1. stay as they are, without quotation marks. It exits with 0. With -S, every cell is a text.
# Seen: five lines, of which JSON.parse reads none, and five that it reads, where the number 1 is a text too.
# Needs: apt-get, as root, or miller 6.6.0, and Node.js.
set -euo pipefail
if ! dpkg-query -W miller >/dev/null 2>&1; then apt-get install -y -qq miller >/dev/null; fi
dpkg-query -W -f '${Version}' miller | grep -q '^6\.6\.0-' || { echo "This needs miller 6.6.0."; exit 1; }
convert() {
  printf 'name,category\n0xff,1\n0b11,1\n0o17,1\n.5,1\n1.,1\n' | mlr --icsv --ojsonl "$@" cat >lines
  cat lines
  node -e 'console.log(require("fs").readFileSync("lines", "utf8").trim().split("\n").map((line) => {
    try { return typeof JSON.parse(line).name; } catch { return "no JSON"; }
  }).join())'
}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
diff - <(convert && convert -S) <<'END'
{"name": 0xff, "category": 1}
{"name": 0b11, "category": 1}
{"name": 0o17, "category": 1}
{"name": .5, "category": 1}
{"name": 1., "category": 1}
no JSON,no JSON,no JSON,no JSON,no JSON
{"name": "0xff", "category": "1"}
{"name": "0b11", "category": "1"}
{"name": "0o17", "category": "1"}
{"name": ".5", "category": "1"}
{"name": "1.", "category": "1"}
string,string,string,string,string
END
echo "As described."

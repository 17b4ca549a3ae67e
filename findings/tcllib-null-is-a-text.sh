#!/usr/bin/env bash
# The json package of Tcllib 1.21 (Debian 12) reads null and the text "null" alike, as it does true and "true", and an empty
# array, an empty object and an empty text. A program cannot tell an animal that is called null from one without a name.
# Seen: equal for each of the three pairs.
# Needs: apt-get, as root, or tcllib 1.21.
set -euo pipefail
if ! dpkg-query -W tcllib >/dev/null 2>&1; then apt-get install -y -qq tcllib >/dev/null; fi
dpkg-query -W -f '${Version}' tcllib | grep -q '^1\.21' || { echo "This needs tcllib 1.21."; exit 1; }
diff - <(tclsh <<'END'
package require json
foreach {one other} {{{"name": null}} {{"name": "null"}} {[true]} {["true"]} {{"ids": []}} {{"ids": {}}}} {
  puts [expr {[json::json2dict $one] eq [json::json2dict $other] ? "equal" : "different"}]
}
END
) <<'END'
equal
equal
equal
END
echo "As described."

#!/usr/bin/env bash
# csvkit 1.0.7 (Debian 12) changes cells that it only has to sort or convert, because it guesses types for whole columns.
# csvsort writes the names May and June as dates, and the name None as nothing. csvjson rounds an id above 2^53, writes it as
# a float, and makes true of the name 1.
# Seen: "1,0001-05-01", "2,0001-06-01", then "1,Rex", "2,", then {"id": 9007199254740992.0, "name": true}.
# Needs: apt-get, as root, or csvkit 1.0.7.
set -euo pipefail
if ! dpkg-query -W csvkit >/dev/null 2>&1; then apt-get install -y -qq csvkit >/dev/null; fi
dpkg-query -W -f '${Version}' csvkit | grep -q '^1\.0\.7-' || { echo "This needs csvkit 1.0.7."; exit 1; }
diff - <(
  printf 'id,name\n2,June\n1,May\n' | csvsort -c id
  printf 'id,name\n2,None\n1,Rex\n' | csvsort -c id
  printf 'id,name\n9007199254740993,1\n' | csvjson && echo
) <<'END'
id,name
1,0001-05-01
2,0001-06-01
id,name
1,Rex
2,
[{"id": 9007199254740992.0, "name": true}]
END
echo "As described."

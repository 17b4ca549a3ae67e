#!/usr/bin/env bash
# Python's requests 2.28.1 (Debian 12) finds no next page in `response.links` when a valid Link header (RFC 8288) has several
# relations, REL in capitals, or a title with "=", and another address when a title has a comma before "<".
# A loop over `links.get("next")` then ends early, without an error.
# Seen: None for three of five forms, and "b" for the fourth.
# Needs: apt-get, as root, or python3-requests 2.28.1.
set -euo pipefail
if ! dpkg-query -W python3-requests >/dev/null 2>&1; then apt-get install -y -qq python3-requests >/dev/null; fi
dpkg-query -W -f '${Version}' python3-requests | grep -q '^2\.28\.1' || { echo "This needs python3-requests 2.28.1."; exit 1; }
diff - <(/usr/bin/python3 - <<'END'
from requests.models import Response

for link in (
    '<http://a.example/?p=2>; rel="next"',
    '<http://a.example/?p=2>; rel="next last"',
    '<http://a.example/?p=2>; REL="next"',
    '<http://a.example/?p=2>; title="x=y"; rel="next"',
    '<http://a.example/?p=2>; title="a, <b>"; rel="next"',
):
    response = Response()
    response.headers["Link"] = link
    print(response.links.get("next", {}).get("url"))
END
) <<'END'
http://a.example/?p=2
None
None
None
b
END
echo "As described."

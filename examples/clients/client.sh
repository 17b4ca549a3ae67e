#!/bin/sh
# Adds an animal exactly once, lists the available animals and fetches the new one. Needs curl and jq.
# Usage: BASE=http://localhost:8787/v1 KEY=<API key> sh client.sh
set -eu

: "${BASE:?}" "${KEY:?}"
case $KEY in
*[!!-~]*) echo 'KEY has to be visible ASCII characters.' >&2 && exit 1 ;; # Another header could follow a line break.
esac
LONGEST_WAIT=120 # Seconds that the service may ask for.
tmp=$(mktemp -d)
trap 'rm -r "$tmp"' EXIT

# In a file, so that the key is not in the list of processes.
echo "Authorization: Bearer $KEY" >"$tmp/authorization"
: >"$tmp/bookmark"

# Prints a header of the last response.
header() { grep -i "^$1:" "$tmp/headers" | cut -d ' ' -f 2- | tr -d '\r'; }

# Sends a request, again after a failure that may pass. A creation needs an Idempotency-Key for this.
# The response is then in $tmp/body and $tmp/headers.
call() { # call <arguments of curl>
  for pause in 1 2 4 8 16 last; do
    : >"$tmp/body"
    : >"$tmp/headers"
    status=$(curl -sS --max-time 30 -H "@$tmp/authorization" -H "@$tmp/bookmark" \
      -o "$tmp/body" -D "$tmp/headers" -w '%{http_code}' "$@") || status=000
    code=$(jq -r '.code? // empty' "$tmp/body" 2>/dev/null) || code=
    case $status in
      2??) if jq -e . "$tmp/body" >/dev/null 2>&1; then break; fi ;;
      000 | 408 | 429 | 503) ;;
      5??) if [ -n "$code" ]; then fail; fi ;; # Without a code, the response comes from a proxy.
      *) fail ;;
    esac
    retry_after=$(header Retry-After | grep -xE '[0-9]+') || retry_after=0
    if [ "$pause" = last ] || [ "$retry_after" -gt "$LONGEST_WAIT" ]; then fail; fi
    sleep $((retry_after + pause))
  done
  # The next response then shows at least as much.
  if [ -n "$(header x-d1-bookmark)" ]; then echo "x-d1-bookmark: $(header x-d1-bookmark)" >"$tmp/bookmark"; fi
}

fail() {
  message=$(jq -r '.message? // empty' "$tmp/body" 2>/dev/null) || message=
  echo "$status $code: ${message:-The response does not come from the service.} Request id: $(header X-Request-Id)" >&2
  exit 1
}

# Prints the body with its integers as strings, because jq before 1.7 rounds those above 2^53.
exact() { sed -E 's/("(id|categoryId)": *)(-?[0-9]+)/\1"\3"/g' "$tmp/body"; }

show() { # show <verb>
  exact | jq -r --arg verb "$1" '[.] | flatten[] | "\($verb) \(.id): \(.name), category \(.categoryId)"'
}

key=$(uuidgen 2>/dev/null || cat /proc/sys/kernel/random/uuid)
call "$BASE/pets" -H 'Content-Type: application/json' -H "Idempotency-Key: $key" \
  -d '{"name": "Kiki the Kiwi", "categoryId": 9223372036854775807}'
id=$(exact | jq -r .id)
show Added

cursor=
while :; do
  call "$BASE/pets?status=available&limit=100$cursor"
  show Listed
  cursor="&$(header Link | grep 'rel="next"' | grep -oE 'cursor=[A-Za-z0-9_-]+')" || break
done

call "$BASE/pets?id=$id"
show Fetched

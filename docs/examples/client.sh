#!/bin/sh
# Lists available animals, then adds one exactly once. Usage: sh client.sh http://localhost:8787/v1 <API key>
set -eu
base=$1 key=$2

curl --fail-with-body --silent --show-error -H "Authorization: Bearer $key" "$base/pets?status=available&limit=5"
echo
# curl retries the request when the response is lost, or is a 429 or 503. The Idempotency-Key makes this safe.
curl --fail-with-body --silent --show-error --retry 3 --retry-all-errors \
  -H "Authorization: Bearer $key" -H 'Content-Type: application/json' -H "Idempotency-Key: $(uuidgen 2>/dev/null || cat /proc/sys/kernel/random/uuid)" \
  -d '{"name": "Kiki the Kiwi", "categoryId": 4}' "$base/pets"
echo

#!/usr/bin/env bash
# standardwebhooks 1.1.1 (npm) verifies the exact bytes of a webhook, and returns the event with rounded integers: `verify` parses
# the body with JSON.parse. Who uses what was verified has another id than what was signed. Parse the body again.
# Seen: 9007199254740992 for a signed 9007199254740993.
# Needs: npm, Node.js 18 or later.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm init --yes >/dev/null
npm install --silent --no-audit --no-fund --ignore-scripts standardwebhooks@1.1.1
cat >run.mjs <<'END'
import { Webhook } from "standardwebhooks";

const webhook = new Webhook("whsec_MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIz");
const [id, at, body] = ["msg_1", new Date(), '{"id":9007199254740993}'];
const headers = {
  "webhook-id": id,
  "webhook-timestamp": String(Math.floor(at.getTime() / 1_000)),
  "webhook-signature": webhook.sign(id, at, body),
};
console.log(JSON.stringify(webhook.verify(body, headers)));
END
diff - <(node run.mjs) <<<'{"id":9007199254740992}'
echo "As described."

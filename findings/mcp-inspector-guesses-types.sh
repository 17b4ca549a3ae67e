#!/usr/bin/env bash
# The command line of @modelcontextprotocol/inspector 2.12.0 (npm) parses the value of --tool-arg as JSON, also where the schema
# of the tool says string, and rounds an integer above 2^53 where it says integer.
# Seen: name=1e3 for a string is sent as the number 1000, and categoryId=9007199254740993 as 9007199254740992.
# Needs: npm, Node.js 20 or later.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm init --yes >/dev/null
npm install --silent --no-audit --no-fund --ignore-scripts @modelcontextprotocol/inspector@2.12.0
cat >server.mjs <<'END'
import { writeFileSync } from "node:fs";
import { createInterface } from "node:readline";

const properties = { name: { type: "string" }, categoryId: { type: "integer" } };
for await (const line of createInterface({ input: process.stdin })) {
  const { id, method, params } = JSON.parse(line);
  const results = {
    initialize: { protocolVersion: params?.protocolVersion, capabilities: { tools: {} }, serverInfo: { name: "a", version: "1" } },
    "tools/list": { tools: [{ name: "create", inputSchema: { type: "object", properties } }] },
    "tools/call": { content: [] },
  };
  if (method === "tools/call") writeFileSync("arguments", /"arguments":(\{.*?\})/.exec(line)[1] + "\n");
  if (id !== undefined) console.log(JSON.stringify({ jsonrpc: "2.0", id, result: results[method] ?? {} }));
}
END
HOME=$folder node_modules/.bin/mcp-inspector --cli node server.mjs --method tools/call --tool-name create \
  --tool-arg name=1e3 categoryId=9007199254740993 >/dev/null
diff - arguments <<'END'
{"name":1000,"categoryId":9007199254740992}
END
echo "As described."

#!/usr/bin/env bash
# @hey-api/openapi-ts 0.99.0 with @hey-api/transformers and `bigInt: true` types an int64 as bigint, and makes it from the number
# that JSON.parse has rounded. It sends a bigint as a text, which the schema does not allow.
# Seen: an id 9007199254740993 is read as 9007199254740992n, and 5n is sent as "5".
# Needs: npm, Node.js 20 or later.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm init --yes >/dev/null
npm install --silent --no-audit --no-fund --ignore-scripts @hey-api/openapi-ts@0.99.0 typescript@5.9.3 esbuild@0.28.2
cat >openapi.json <<'END'
{
  "openapi": "3.1.0",
  "info": { "title": "Animals", "version": "1" },
  "paths": {
    "/animals": {
      "post": {
        "operationId": "createAnimal",
        "requestBody": { "required": true, "content": { "application/json": { "schema": { "$ref": "#/components/schemas/Animal" } } } },
        "responses": { "201": { "description": "Created", "content": { "application/json": { "schema": { "$ref": "#/components/schemas/Animal" } } } } }
      }
    }
  },
  "components": {
    "schemas": {
      "Animal": { "type": "object", "required": ["id"], "properties": { "id": { "type": "integer", "format": "int64" } } }
    }
  }
}
END
cat >generate.mjs <<'END'
import { createClient } from "@hey-api/openapi-ts";
await createClient({
  input: "openapi.json",
  output: "client",
  logs: { level: "silent" },
  plugins: [
    "@hey-api/client-fetch",
    { name: "@hey-api/transformers", bigInt: true },
    { name: "@hey-api/sdk", transformer: true },
  ],
});
END
node generate.mjs >/dev/null
cat >use.ts <<'END'
import { createServer } from "node:http";
import { client } from "./client/client.gen";
import { createAnimal } from "./client/sdk.gen";

const server = createServer(async (request, response) => {
  let body = "";
  for await (const part of request) body += part;
  console.log("sent", body);
  response.writeHead(201, { "Content-Type": "application/json" }).end('{"id": 9007199254740993}');
});
server.listen(0, "127.0.0.1", async () => {
  client.setConfig({ baseUrl: `http://127.0.0.1:${(server.address() as { port: number }).port}` });
  const { data } = await createAnimal({ body: { id: 5n } });
  console.log("read", typeof data?.id, String(data?.id));
  server.close();
});
END
npx esbuild use.ts --bundle --platform=node --format=esm --outfile=use.mjs --log-level=error
diff - <(node use.mjs) <<'END'
sent {"id":"5"}
read bigint 9007199254740992
END
echo "As described."

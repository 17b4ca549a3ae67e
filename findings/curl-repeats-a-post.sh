#!/usr/bin/env bash
# curl 7.88.1 (Debian 12, libcurl4 7.88.1) sends a POST twice, without --retry, when it uses a connection again and the
# server closes it after it took the request. Every program that keeps a handle of libcurl does so, in PHP and R too.
# On a new connection, the same POST is sent once and curl fails with code 52.
# Seen: "new connection: 1 POST, curl ended with 52" and "used connection: 2 POST, curl ended with 0".
# Needs: curl 7.88.1, Node.js 18 or later.
set -euo pipefail
curl --version | grep -q '^curl 7\.88\.1 ' || { echo "This needs curl 7.88.1."; exit 1; }
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cat >"$folder/run.mjs" <<'END'
import { execFile } from "node:child_process";
import { createServer } from "node:http";

let posts = 0;
const server = createServer((request, response) => {
  request.resume().on("end", () => {
    if (request.method === "POST" && ++posts === 1) response.destroy();
    else response.end();
  });
});
server.listen(0, "127.0.0.1", async () => {
  const url = `http://127.0.0.1:${server.address().port}/`;
  const post = ["-s", "--json", '{"name": "Rex"}', url];
  for (const [name, args] of [
    ["new", post],
    ["used", ["-s", url, "--next", ...post]],
  ]) {
    posts = 0;
    const code = await new Promise((resolve) => execFile("curl", args, (error) => resolve(error?.code ?? 0)));
    console.log(`${name} connection: ${posts} POST, curl ended with ${code}`);
  }
  server.close();
});
END
diff - <(node "$folder/run.mjs") <<'END'
new connection: 1 POST, curl ended with 52
used connection: 2 POST, curl ended with 0
END
echo "As described."

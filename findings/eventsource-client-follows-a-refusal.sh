#!/usr/bin/env bash
# eventsource-client 1.2.0 (npm) looks at no status but 204 and at no Content-Type. It takes a 401 with JSON for a stream: it reports that
# it is connected, and comes back every two seconds with the same refused credential, without an error. WHATWG HTML, section 9.2.3,
# fails such a connection for good, as eventsource 4.1.1 does.
# Seen: "connected, comes back after 2000 ms, requests: 2" and "failed with 401, requests: 1".
# Needs: npm, Node.js 20 or later.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm init --yes >/dev/null
npm install --silent --no-audit --no-fund --ignore-scripts eventsource-client@1.2.0 eventsource@4.1.1
cat >run.mjs <<'END'
import { createServer } from "node:http";
import { EventSource } from "eventsource";
import { createEventSource } from "eventsource-client";

let requests = 0;
const server = createServer((_, response) => {
  requests++;
  response.writeHead(401, { "Content-Type": "application/json" }).end('{"code":"unauthorized"}');
});
server.listen(0, "127.0.0.1", async () => {
  const url = `http://127.0.0.1:${server.address().port}/`;
  const followed = [
    (tell) => {
      const onScheduleReconnect = ({ delay }) => tell(`comes back after ${delay} ms`);
      const { close } = createEventSource({ url, onConnect: () => tell("connected"), onScheduleReconnect });
      return close;
    },
    (tell) => {
      const source = new EventSource(url);
      source.onerror = ({ code }) => tell(`failed with ${code}`);
      return () => source.close();
    },
  ];
  for (const follow of followed) {
    const told = new Set();
    requests = 0;
    const close = follow((text) => told.add(text));
    await new Promise((resolve) => setTimeout(resolve, 3_000));
    close();
    console.log([...told, `requests: ${requests}`].join(", "));
  }
  process.exit();
});
END
diff - <(node run.mjs) <<'END'
connected, comes back after 2000 ms, requests: 2
failed with 401, requests: 1
END
echo "As described."

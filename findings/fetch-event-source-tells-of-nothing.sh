#!/usr/bin/env bash
# @microsoft/fetch-event-source 2.0.1 and extended-eventsource 2.1.0 (npm) hand on a message with an empty text when a blank line follows
# a comment or a `retry` of an event stream. Such a block has no data and is no message (WHATWG HTML, section 9.2.6). A program that
# reads each message with JSON.parse fails at a comment that only keeps the connection. eventsource 4.1.1 hands on the messages alone.
# Seen: ["","1","","2"], the same, and ["1","2"].
# Needs: npm, Node.js 20 or later.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm init --yes >/dev/null
npm install --silent --no-audit --no-fund --ignore-scripts \
  @microsoft/fetch-event-source@2.0.1 extended-eventsource@2.1.0 eventsource@4.1.1
cat >run.mjs <<'END'
import { createServer } from "node:http";
import { EventSource as Plain } from "eventsource";
import { EventSource as Extended } from "extended-eventsource";
import { fetchEventSource } from "@microsoft/fetch-event-source";

// What the first one asks of a page.
globalThis.window = globalThis;
globalThis.document = { hidden: false, addEventListener() {}, removeEventListener() {} };

const server = createServer((_, response) => {
  response.writeHead(200, { "Content-Type": "text/event-stream" });
  response.write("retry: 1000\n\ndata: 1\n\n: still here\n\ndata: 2\n\n");
});
server.listen(0, "127.0.0.1", async () => {
  const url = `http://127.0.0.1:${server.address().port}/`;
  const followed = [
    (take) => void fetchEventSource(url, { openWhenHidden: true, onmessage: ({ data }) => take(data) }),
    (take) => void (new Extended(url).onmessage = ({ data }) => take(data)),
    (take) => void (new Plain(url).onmessage = ({ data }) => take(data)),
  ];
  for (const follow of followed) {
    const taken = [];
    await new Promise((resolve) => follow((data) => taken.push(data) && data === "2" && resolve()));
    console.log(JSON.stringify(taken));
  }
  process.exit();
});
END
diff - <(node run.mjs) <<'END'
["","1","","2"]
["","1","","2"]
["1","2"]
END
echo "As described."

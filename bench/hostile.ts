// npm run bench:hostile: prints the CPU that hostile requests cost, each beside an ordinary one of the same length.
//
//   npm run bench:hostile -- --before <git revision>    also measures the service as of that commit
import { mkdtempSync, rmSync } from "node:fs";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { buildService } from "./candidates.ts";
import { type Prepared, prepare } from "./prepare.ts";
import { KEY } from "./requests.ts";
import { buildRevision } from "./revision.ts";
import { Server } from "./server.ts";
import { table } from "./tables.ts";

const SAMPLES = 5;
/** Milliseconds for one request, after which the figure is that of a request without an end. */
const TIME_LIMIT = 20_000;

/** Bodies that are expensive to parse: how they begin, and an element by its number. */
const BODIES: { [name: string]: { head: string; element: (number: number) => string; end: string } } = {
  "an ordinary body": { head: '["', element: () => "Ada the Alpaca", end: '"]' },
  "1.0, and keys a power of two apart": { head: '{"a":1.0', element: (number) => `,"${number * 2 ** 16}":1`, end: "}" },
  "a long integer, and such keys": {
    head: '{"a":1234567890123456',
    element: (number) => `,"${number * 2 ** 16}":1`,
    end: "}",
  },
  "1.0, and short numbers": { head: "[1.0", element: () => ",1", end: "]" },
  "a long integer, and empty objects": { head: "[1234567890123456", element: () => ",{}", end: "]" },
  "long integers": { head: "[1", element: () => ",9223372036854775807", end: "]" },
};

function hostileBody({ head, element, end }: (typeof BODIES)[string], length: number): Buffer {
  let text = head;
  for (let number = 0; text.length < length; number++) text += element(number);
  return Buffer.from(text + end);
}

/** Bytes that are sent over a connection of their own. */
interface Message {
  name: string;
  head: string;
  body?: Buffer;
}

const authorized = (lines: string) => `Authorization: Bearer ${KEY}\r\nContent-Type: application/json\r\n${lines}`;
const chunks = (count: number) => Buffer.from(`${"1\r\n \r\n".repeat(count)}0\r\n\r\n`);
const wholeChunk = (size: number) => Buffer.from(`${size.toString(16)}\r\n${" ".repeat(size)}\r\n0\r\n\r\n`);

const MESSAGES: Message[] = [
  ...[8_000, 32_000, 100_000].flatMap((length) => [
    { name: `key of ${length} letters`, head: `GET /v1/pets\r\nAuthorization: Bearer ${"x".repeat(length)}\r\n` },
    {
      name: `${length} spaces and U+2028`,
      head: `GET /v1/pets\r\nAuthorization: Bearer${" ".repeat(length)}\u2028\r\n`,
    },
  ]),
  { name: "no body, without a key", head: "POST /health\r\n" },
  {
    name: "100 MB, without a key",
    head: "POST /health\r\nContent-Length: 100000000\r\n",
    body: Buffer.alloc(100_000_000, " "),
  },
  {
    name: "60,000 bytes in one chunk, with a key",
    head: `POST /v1/pets\r\n${authorized("Transfer-Encoding: chunked\r\n")}`,
    body: wholeChunk(60_000),
  },
  {
    name: "60,000 chunks of a byte, with a key",
    head: `POST /v1/pets\r\n${authorized("Transfer-Encoding: chunked\r\n")}`,
    body: chunks(60_000),
  },
  {
    name: "60,000 chunks of a byte, without a key",
    head: "POST /health\r\nTransfer-Encoding: chunked\r\n",
    body: chunks(60_000),
  },
  ...Object.entries(BODIES).flatMap(([name, description]) =>
    [16_000, 32_000, 65_000].map((length) => {
      const body = hostileBody(description, length);
      const head = `POST /v1/pets\r\n${authorized(`Content-Length: ${body.length}\r\n`)}`;
      return { name: `${length} bytes: ${name}`, head, body };
    }),
  ),
];

const { values } = parseArgs({ options: { before: { type: "string" } } });
const folder = mkdtempSync(join(tmpdir(), "petstore-hostile-"));
try {
  const before = values.before === undefined ? [] : [buildRevision(values.before, folder)];
  const candidates = await prepare([await buildService(), ...before], folder);
  const rows = MESSAGES.map(({ name }) => [name]);
  for (const candidate of candidates) {
    for (const [index, cost] of (await measure(candidate)).entries()) rows[index]?.push(cost);
  }
  console.log(`CPU of workerd for one request, milliseconds: the median of ${SAMPLES}.\n`);
  console.log(table(["request", ...candidates.map(({ name }) => name)], rows));
} finally {
  rmSync(folder, { recursive: true, force: true });
}

async function measure(candidate: Prepared): Promise<string[]> {
  const costs: string[] = [];
  for (const message of MESSAGES) {
    await using server = await Server.start(candidate);
    await send(server.port, message);
    const samples: number[] = [];
    for (let sample = 0; sample < SAMPLES; sample++) {
      const start = server.cpuMicroseconds();
      await send(server.port, message);
      samples.push((server.cpuMicroseconds() - start) / 1_000);
    }
    costs.push((samples.toSorted((a, b) => a - b)[Math.floor(SAMPLES / 2)] ?? Number.NaN).toFixed(1));
  }
  return costs;
}

/** Sends a message, and returns when the server has closed the connection. */
function send(port: number, { head, body = Buffer.alloc(0) }: Message): Promise<void> {
  const [requestLine = "", ...fields] = head.split("\r\n");
  const text = [`${requestLine} HTTP/1.1`, "Host: 127.0.0.1", "Connection: close", ...fields, ""].join("\r\n");
  return new Promise((resolve) => {
    const socket = connect({ port, host: "127.0.0.1" }, () => {
      socket.write(text);
      socket.write(body);
    });
    socket.setTimeout(TIME_LIMIT, () => socket.destroy());
    // The server may respond and hang up while the body is still being sent.
    socket.on("error", () => {});
    socket.on("close", () => resolve());
    socket.resume();
  });
}

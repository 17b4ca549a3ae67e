import { connect } from "node:net";
import type { Prepared } from "./prepare.ts";
import { table } from "./report.ts";
import { AUTHORIZATION } from "./requests.ts";
import { Server } from "./server.ts";
import { spread } from "./spread.ts";

const SAMPLES = 5;
/** Milliseconds for one request, after which it counts as endless. */
const TIME_LIMIT = 20_000;

/** A request line with fields, and a body. */
type Message = [head: string, body?: Buffer | string];

const withKey = (length: string) =>
  `POST /v1/pets\r\nAuthorization: ${AUTHORIZATION}\r\nContent-Type: application/json\r\n${length}\r\n`;
const CHUNKED = "Transfer-Encoding: chunked";
const CHUNKS = `${"1\r\n \r\n".repeat(60_000)}0\r\n\r\n`;
const ONE_CHUNK = `${(60_000).toString(16)}\r\n${" ".repeat(60_000)}\r\n0\r\n\r\n`;

/** An ordinary body, and bodies that are expensive to parse: their beginning, an element by its number, and their end. */
const BODIES: { [name: string]: [head: string, element: (number: number) => string, end: string] } = {
  "an ordinary body": ['["', () => "Ada the Alpaca", '"]'],
  "1.0, and keys a power of two apart": ['{"a":1.0', (number) => `,"${number * 2 ** 16}":1`, "}"],
  "a long integer, and such keys": ['{"a":1234567890123456', (number) => `,"${number * 2 ** 16}":1`, "}"],
  "1.0, and short numbers": ["[1.0", () => ",1", "]"],
  "a long integer, and empty objects": ["[1234567890123456", () => ",{}", "]"],
  "long integers": ["[1", () => ",9223372036854775807", "]"],
};

const MESSAGES: { [name: string]: Message } = {
  "no body, without a key": ["POST /health\r\n"],
  "100 MB, without a key": ["POST /health\r\nContent-Length: 100000000\r\n", Buffer.alloc(100_000_000, " ")],
  "60,000 bytes in one chunk, with a key": [withKey(CHUNKED), ONE_CHUNK],
  "60,000 chunks of a byte, with a key": [withKey(CHUNKED), CHUNKS],
  "60,000 chunks of a byte, without a key": [`POST /health\r\n${CHUNKED}\r\n`, CHUNKS],
};
for (const length of [8_000, 32_000, 100_000]) {
  MESSAGES[`key of ${length} letters`] = [`GET /v1/pets\r\nAuthorization: Bearer ${"x".repeat(length)}\r\n`];
  MESSAGES[`${length} spaces and U+2028`] = [`GET /v1/pets\r\nAuthorization: Bearer${" ".repeat(length)}\u2028\r\n`];
}
for (const [name, [head, element, end]] of Object.entries(BODIES)) {
  for (const length of [16_000, 32_000, 65_000]) {
    let body = head;
    for (let number = 0; body.length < length; number++) body += element(number);
    MESSAGES[`${length} bytes: ${name}`] = [withKey(`Content-Length: ${body.length + end.length}`), body + end];
  }
}

/** Markdown of the CPU time of hostile requests, each next to an ordinary one of the same length. */
export async function hostileRequests(candidates: Prepared[]): Promise<string> {
  const rows = [];
  for (const [name, message] of Object.entries(MESSAGES)) {
    const row = [name];
    for (const candidate of candidates) row.push((await cost(candidate, message)).toFixed(1));
    rows.push(row);
  }
  return `CPU of workerd for one request, milliseconds: the median of ${SAMPLES}.

${table(["request", ...candidates.map(({ name }) => name)], rows)}`;
}

async function cost(candidate: Prepared, message: Message): Promise<number> {
  await using server = await Server.start(candidate);
  await send(server.port, message);
  const samples: number[] = [];
  for (let sample = 0; sample < SAMPLES; sample++) {
    const start = server.cpuMicroseconds();
    await send(server.port, message);
    samples.push((server.cpuMicroseconds() - start) / 1_000);
  }
  return spread(samples).median;
}

/** Sends a message and returns when the server has closed the connection. */
function send(port: number, [head, body = ""]: Message): Promise<void> {
  return new Promise((resolve) => {
    const socket = connect({ port, host: "127.0.0.1" }, () => {
      socket.write(`${head.replace("\r\n", " HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n")}\r\n`);
      socket.write(body);
    });
    socket.setTimeout(TIME_LIMIT, () => socket.destroy());
    // The server may respond and hang up while the body is still being sent.
    socket.on("error", () => {});
    socket.on("close", () => resolve());
    socket.resume();
  });
}

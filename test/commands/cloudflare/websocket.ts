import { createHash } from "node:crypto";
import type { IncomingMessage } from "node:http";
import type { Duplex } from "node:stream";

/** Hashed with the key of the client (RFC 6455, section 1.3). */
const GUID = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";
/** First bytes of the final frame of a message, with its opcode (RFC 6455, section 5.2). */
const TEXT = 0x81;
const CLOSE = 0x88;
const NORMAL_CLOSURE = 1_000;
/** The longest payload whose length is in one byte, and the mark of a length in the next two. */
const SHORT = 125;
const TWO_BYTES = 126;

/** Accepts a WebSocket, sends these messages and ends it. */
export function sendMessages(request: IncomingMessage, socket: Duplex, messages: readonly string[]): void {
  const key = `${request.headers["sec-websocket-key"]}${GUID}`;
  const accept = createHash("sha1").update(key).digest("base64");
  const protocol = request.headers["sec-websocket-protocol"];
  socket.write(
    `HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n` +
      `Sec-WebSocket-Accept: ${accept}\r\nSec-WebSocket-Protocol: ${protocol}\r\n\r\n`,
  );
  // wrangler sends a message first. After that, it listens.
  socket.once("data", () => {
    for (const message of messages) socket.write(frame(TEXT, Buffer.from(message)));
    const code = Buffer.alloc(2);
    code.writeUInt16BE(NORMAL_CLOSURE);
    socket.end(frame(CLOSE, code));
  });
}

function frame(first: number, payload: Buffer): Buffer {
  if (payload.length <= SHORT) return Buffer.concat([Buffer.from([first, payload.length]), payload]);
  const head = Buffer.from([first, TWO_BYTES, 0, 0]);
  head.writeUInt16BE(payload.length, 2);
  return Buffer.concat([head, payload]);
}

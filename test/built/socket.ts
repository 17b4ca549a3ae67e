import { connect } from "node:net";

export interface RawResponse {
  status: number;
  headers: Headers;
  body: string;
}

/** Milliseconds without a byte after which a connection is given up. */
const IDLE_LIMIT = 10_000;

/**
 * Sends raw bytes, which a client library would correct, and returns everything that the server sends before it closes the
 * connection.
 *
 * @param until hang up as soon as the response matches this.
 * @param end tell the server that the request is complete.
 */
export function exchange(
  url: URL,
  bytes: Uint8Array,
  { until, end = false }: { until?: RegExp | undefined; end?: boolean } = {},
): Promise<string> {
  return new Promise((resolve, reject) => {
    let received = "";
    const socket = connect(Number(url.port), url.hostname, () => (end ? socket.end(bytes) : socket.write(bytes)));
    socket.setEncoding("utf8");
    socket.setTimeout(IDLE_LIMIT, () => socket.destroy(new Error("The server neither responded nor hung up")));
    socket.on("data", (text: string) => {
      received += text;
      if (until?.test(received)) socket.destroy();
    });
    socket.on("close", () => resolve(received));
    // A server may respond and reset the connection while the request is still being sent.
    socket.on("error", (error: NodeJS.ErrnoException) => {
      if (error.code !== "ECONNRESET" && error.code !== "EPIPE") reject(error);
    });
  });
}

/** Parses an HTTP/1.1 response and decodes its chunks (RFC 9112, section 7.1). */
export function parseResponse(text: string): RawResponse {
  const end = text.indexOf("\r\n\r\n");
  const [statusLine = "", ...fields] = text.slice(0, end).split("\r\n");
  const headers = new Headers();
  for (const field of fields) {
    const colon = field.indexOf(":");
    headers.append(field.slice(0, colon), field.slice(colon + 1).trim());
  }
  let body = text.slice(end + 4);
  if (headers.get("Transfer-Encoding") === "chunked") body = body.replace(/(?:^|\r\n)[0-9a-f]+\r\n/gi, "").trim();
  return { status: Number(statusLine.split(" ")[1]), headers, body };
}

import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { type BenchRequest, headersOf } from "./requests.ts";

/**
 * Sends requests as fast as they are answered, over connections of its own. Only what that takes of HTTP/1.1: node:http needs as much
 * CPU as the Workers that are measured, on the same cores. For use at once: workerd closes a connection that is idle for five seconds.
 */
export class Load {
  readonly #sockets: Socket[];

  private constructor(sockets: Socket[]) {
    this.#sockets = sockets;
  }

  /** To a port of 127.0.0.1. */
  static async open(port: number, connections: number): Promise<Load> {
    const sockets = Array.from({ length: connections }, () => connect({ port, host: "127.0.0.1", noDelay: true }));
    await Promise.all(sockets.map((socket) => once(socket, "connect")));
    return new Load(sockets.map((socket) => socket.setEncoding("latin1")));
  }

  /** Sends a request `count` times. @throws Error when an answer has another status than the request expects. */
  async repeat(request: BenchRequest, count: number): Promise<void> {
    const message = messageOf(request);
    let left = count;
    const next = () => (left-- > 0 ? message : undefined);
    await Promise.all(this.#sockets.map((socket) => exchange(socket, next, request)));
  }

  [Symbol.dispose](): void {
    for (const socket of this.#sockets) socket.destroy();
  }
}

/** Sends one message after the other, each when the one before is answered, until there is none. */
function exchange(socket: Socket, next: () => string | undefined, { name, status }: BenchRequest): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  let answer = "";
  const send = () => {
    answer = "";
    const message = next();
    if (message === undefined) resolve();
    else socket.write(message);
  };
  const receive = (text: string) => {
    answer += text;
    const head = answer.indexOf("\r\n\r\n");
    if (head === -1) return;
    const length = /\r\ncontent-length: (\d+)\r\n/i.exec(answer)?.[1];
    if (length === undefined || !answer.startsWith(`HTTP/1.1 ${status} `)) {
      reject(new Error(`${name}: not a ${status} with a Content-Length: ${answer}`));
    } else if (answer.length === head + 4 + Number(length)) {
      send();
    }
  };
  const closed = () => reject(new Error(`${name}: the connection was closed`));
  socket.on("data", receive).on("close", closed);
  send();
  return promise.finally(() => socket.off("data", receive).off("close", closed));
}

function messageOf(request: BenchRequest): string {
  const { method, path, body = "" } = request;
  const length = body === "" ? {} : { "Content-Length": String(Buffer.byteLength(body)) };
  const headers = Object.entries({ Host: "127.0.0.1", ...headersOf(request), ...length });
  const lines = headers.map(([name, value]) => `${name}: ${value}\r\n`);
  return `${method} ${path} HTTP/1.1\r\n${lines.join("")}\r\n${body}`;
}

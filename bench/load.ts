import { once } from "node:events";
import { connect, type Socket } from "node:net";
import type { BenchRequest } from "./requests.ts";

/**
 * Sends requests over its own connections, each as soon as the previous response arrives. It implements only the needed part of
 * HTTP/1.1, because node:http takes as much CPU on the same cores as the measured Workers. Use it at once: workerd closes a
 * connection that is idle for five seconds.
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

  /** Sends a request `count` times. @throws Error when a response has another status than the request expects. */
  async repeat(request: BenchRequest, count: number): Promise<void> {
    const { name, method, path, paths = [path], headers, body = "", status } = request;
    const length = body === "" ? {} : { "Content-Length": String(Buffer.byteLength(body)) };
    const fields = Object.entries({ Host: "127.0.0.1", ...headers, ...length });
    const lines = fields.map(([field, value]) => `${field}: ${value}\r\n`);
    const messages = paths.map((path) => `${method} ${path} HTTP/1.1\r\n${lines.join("")}\r\n${body}`);
    let sent = 0;
    const next = () => messages[sent++ % messages.length] ?? "";
    let left = count;
    const converse = async (socket: Socket): Promise<void> => {
      if (left-- <= 0) return;
      socket.write(next());
      let answer = "";
      for await (const text of socket.iterator({ destroyOnReturn: false })) {
        answer += text;
        const head = answer.indexOf("\r\n\r\n");
        if (head === -1) continue;
        const length = status === 204 ? "0" : /\r\ncontent-length: (\d+)\r\n/i.exec(answer)?.[1];
        if (length === undefined || !answer.startsWith(`HTTP/1.1 ${status} `)) {
          throw new Error(`${name}: not a ${status} with a Content-Length: ${answer}`);
        }
        if (answer.length < head + 4 + Number(length)) continue;
        if (left-- <= 0) return;
        answer = "";
        socket.write(next());
      }
      throw new Error(`${name}: the connection was closed`);
    };
    await Promise.all(this.#sockets.map(converse));
  }

  [Symbol.dispose](): void {
    for (const socket of this.#sockets) socket.destroy();
  }
}

import { connect } from "node:net";

/** Milliseconds after which a hostile client hangs up in any case. The service ends a slow body after 10 seconds. */
const LIFETIME = 15_000;

/** The end of a connection: the status of the response, or the side that hung up. */
type Ending = number | "closed by the service" | "closed by the client";

interface Troublemaker {
  /** The number of concurrent clients. */
  connections: number;
  /** The pieces to send, `pause` milliseconds apart. */
  pieces: (host: string, key: string) => string[];
  pause: number;
  /** Whether the client hangs up right after the last piece. */
  aborts?: boolean;
}

const UPLOAD_BYTES = 60_000;

export const TROUBLEMAKERS: { [name: string]: Troublemaker } = {
  "slow bodies": {
    connections: 10,
    pieces: (host, key) => [
      head("POST", host, key, ["Content-Length: 1000"]),
      ...Array.from({ length: 30 }, () => " "),
    ],
    pause: 500,
  },
  "aborted uploads": {
    connections: 5,
    pieces: (host, key) => [
      head("POST", host, key, [`Content-Length: ${UPLOAD_BYTES}`]),
      `{"name":"${"x".repeat(UPLOAD_BYTES / 2)}`,
    ],
    pause: 100,
    aborts: true,
  },
  "many headers": {
    connections: 3,
    pieces: (host, key) => [
      head(
        "GET",
        host,
        key,
        Array.from({ length: 500 }, (_, n) => `X-Flood-${n}: ${"y".repeat(80)}`),
      ),
    ],
    pause: 100,
  },
  "half-open connections": {
    connections: 10,
    pieces: (host) => [`GET /v1/pets HTTP/1.1\r\nHost: ${host}\r\nX-Unfinished: `],
    pause: 100,
  },
};

function head(method: string, host: string, key: string, fields: string[]): string {
  const lines = [`${method} /v1/pets HTTP/1.1`, `Host: ${host}`, `Authorization: Bearer ${key}`];
  return [...lines, "Content-Type: application/json", "Connection: close", ...fields, "", ""].join("\r\n");
}

/** Clients that are hostile or broken, a bounded number at a time. */
export class Trouble {
  /** The number of connections of each kind, by their end. */
  readonly endings = new Map<string, Map<Ending, number>>();
  readonly #url: URL;
  readonly #keys: string[];
  #connections = 0;

  /** @param keys used in turn, so that no rate limit stops the load. */
  constructor(url: URL, keys: string[]) {
    this.#url = url;
    this.#keys = keys;
  }

  /** Runs clients of all kinds for the given time. Returns when every connection has ended. */
  async make(milliseconds: number): Promise<void> {
    const end = performance.now() + milliseconds;
    const clients = Object.entries(TROUBLEMAKERS).flatMap(([name, troublemaker]) =>
      Array.from({ length: troublemaker.connections }, async () => {
        while (performance.now() < end) this.#count(name, await this.#connect(troublemaker));
      }),
    );
    await Promise.all(clients);
  }

  #connect({ pieces, pause, aborts = false }: Troublemaker): Promise<Ending> {
    const key = this.#keys[this.#connections++ % this.#keys.length] ?? "";
    const left = pieces(this.#url.host, key);
    return new Promise((resolve) => {
      let answer = "";
      let ending: Ending = "closed by the service";
      const socket = connect({ port: Number(this.#url.port), host: "127.0.0.1" });
      const hangUp = () => {
        ending = "closed by the client";
        socket.destroy();
      };
      const lifetime = setTimeout(hangUp, LIFETIME);
      const sending = setInterval(() => {
        const piece = left.shift();
        if (piece !== undefined) socket.write(piece);
        else if (aborts) hangUp();
      }, pause);
      socket.setEncoding("latin1").on("data", (text: string) => {
        answer += text;
      });
      // A service may refuse and reset the connection while the client still sends. `close` follows.
      socket.on("error", () => undefined);
      socket.on("close", () => {
        clearTimeout(lifetime);
        clearInterval(sending);
        const status = /^HTTP\/1\.1 (\d{3}) /.exec(answer)?.[1];
        resolve(status === undefined ? ending : Number(status));
      });
    });
  }

  #count(name: string, ending: Ending): void {
    const endings = this.endings.get(name) ?? new Map<Ending, number>();
    this.endings.set(name, endings.set(ending, (endings.get(ending) ?? 0) + 1));
  }
}

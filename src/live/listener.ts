import { type Audience, type Page, utf8 } from "./audience.ts";

/** Messages from a client that are ignored, at most. */
const MAX_IGNORED = 10;
/** Characters of each, at most. */
const MAX_MESSAGE = 1_024;
/** Codes of RFC 6455 and its registry: a policy is violated, and the service restarts. */
export const POLICY = 1008;
export const RESTART = 1012;
/** Added to the status of a failure. 4000 to 4999 are for applications. */
export const CLOSE = 4_000;
/** Milliseconds before an event source comes back, by chance between these: all listeners lose their hub together. */
const LEAST_RETRY = 1_000;
const MOST_RETRY = 5_000;

/** One that the hub tells. */
export interface Listener {
  readonly audience: Audience;
  readonly owner: string;
  /** Bytes that may wait for its client in memory. */
  readonly waiting: number;
  /** The share of its part that may wait. Those that came together do not end together if it differs. */
  readonly share: number;
  send(page: Page): void;
  /** Ends it, with a code of a closed socket. Whoever may come back learns the reason of a stream then. */
  end(code: number, reason: string): void;
}

/** The key or the customer that it belongs to. */
export const ownerOf = ({ keyId, customer }: Audience): string => `${keyId} ${customer ?? ""}`;

/**
 * Its audience as JSON, the bytes that it got, its messages that were ignored, and its share, which a socket of version 1.4 lacks. Kept at
 * each page, so it is cheap to write.
 */
type Attachment = [audience: string, bytes: number, ignored: number, share?: number];

/** A socket. What it needs survives the hibernation of its hub. */
export class SocketListener implements Listener {
  readonly audience: Audience;
  readonly owner: string;
  readonly #socket: WebSocket;
  #attachment: Attachment;

  /** @param attachment of a socket that the hub had before, unless given. */
  constructor(socket: WebSocket, attachment = socket.deserializeAttachment() as Attachment) {
    [this.#socket, this.#attachment] = [socket, attachment];
    this.audience = JSON.parse(attachment[0]) as Audience;
    this.owner = ownerOf(this.audience);
  }

  /** A socket that the hub accepts now. It takes at least half of its part, by chance. */
  static accepted(socket: WebSocket, audience: Audience): SocketListener {
    return new SocketListener(socket, [JSON.stringify(audience), 0, 0, 1 - Math.random() / 2]);
  }

  /** All that it got: nothing tells how much of it its client has read. */
  get waiting(): number {
    return this.#attachment[1];
  }

  get share(): number {
    return this.#attachment[3] ?? 1;
  }

  send({ text, bytes }: Page): void {
    try {
      this.#socket.send(text);
    } catch {
      // The client has left. The hub hears of it.
    }
    this.#keep(1, bytes);
  }

  /** Takes a message of the client other than `ping`. Returns whether there were too many. */
  ignore(message: string | ArrayBuffer): boolean {
    const length = typeof message === "string" ? message.length : message.byteLength;
    this.#keep(2, 1);
    return this.#attachment[2] > MAX_IGNORED || length > MAX_MESSAGE;
  }

  #keep(count: 1 | 2, more: number): void {
    this.#attachment[count] += more;
    this.#socket.serializeAttachment(this.#attachment);
  }

  end(code: number, reason: string): void {
    try {
      this.#socket.close(code, reason);
    } catch {
      // It is closed.
    }
  }
}

/** An event stream (WHATWG HTML, section 9.2). It ends with its hub. */
export class StreamListener implements Listener {
  readonly audience: Audience;
  readonly owner: string;
  readonly body: ReadableStream<Uint8Array>;
  readonly #writer: WritableStreamDefaultWriter<Uint8Array>;
  readonly share = 1;

  /** @param onGone its client has read all of it, or has left. */
  constructor(audience: Audience, onGone: (listener: StreamListener) => void) {
    [this.audience, this.owner] = [audience, ownerOf(audience)];
    const { readable, writable } = new TransformStream<Uint8Array, Uint8Array>(undefined, {
      highWaterMark: 0,
      size: (chunk) => chunk.byteLength,
    });
    this.body = readable;
    this.#writer = writable.getWriter();
    const gone = () => onGone(this);
    this.#writer.closed.then(gone, gone);
    const retry = LEAST_RETRY + Math.floor(Math.random() * (MOST_RETRY - LEAST_RETRY));
    // Without a blank line, which some libraries take for the end of a message: that would have no data.
    this.#write(`retry: ${retry}\n`);
  }

  /** Here, the stream tells. */
  get waiting(): number {
    return -(this.#writer.desiredSize ?? 0);
  }

  send({ cursor, text }: Page): void {
    this.#write(`id: ${cursor}\ndata: ${text}\n\n`);
  }

  /** Keeps the connection: Node.js ends a body that brings nothing for 300 seconds. */
  comment(): void {
    this.#write(":\n");
  }

  end(): void {
    this.#writer.close().catch(() => {});
  }

  #write(text: string): void {
    // It rejects when the client has left.
    this.#writer.write(utf8.encode(text)).catch(() => {});
  }
}

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

/** How many listeners have the same key or are the same customer, and the bytes that may wait for them. */
export interface Held {
  listeners: number;
  bytes: number;
}

/** One that the hub tells. */
export abstract class Listener {
  readonly audience: Audience;
  /** The share of what may wait for it after which it has to come back. By chance, so that those who came together do not leave together. */
  readonly patience = 1 - Math.random() / 2;
  held: Held = { listeners: 0, bytes: 0 };
  /** The bytes that `held` has of it. */
  counted = 0;

  constructor(audience: Audience) {
    this.audience = audience;
  }

  /** Whether it is told. What was sent to one that has ended stays in memory until its client has read it, or is gone. */
  abstract readonly isOpen: boolean;
  /** Bytes that wait for its client, at most. */
  abstract readonly waiting: number;
  abstract send(page: Page): void;
  /** Ends it, with a code of a closed socket. Whoever may come back learns the reason of a stream then. */
  abstract end(code: number, reason: string): void;
}

/** Its audience as JSON, the bytes that it got, and its messages that were ignored: kept at each page, so it is cheap to write. */
type Attachment = [audience: string, bytes: number, ignored: number];

/** A socket. What it needs survives the hibernation of its hub. */
export class SocketListener extends Listener {
  readonly #socket: WebSocket;
  readonly #attachment: Attachment;

  /** @param audience of a socket that the hub accepts now. Others are restored. */
  constructor(socket: WebSocket, audience?: Audience) {
    const attachment = audience
      ? ([JSON.stringify(audience), 0, 0] satisfies Attachment)
      : (socket.deserializeAttachment() as Attachment);
    super(audience ?? (JSON.parse(attachment[0]) as Audience));
    [this.#socket, this.#attachment] = [socket, attachment];
  }

  get isOpen(): boolean {
    return this.#socket.readyState === WebSocket.OPEN;
  }

  /** All that it got: nothing tells how much of it the client has read. */
  get waiting(): number {
    return this.#attachment[1];
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
export class StreamListener extends Listener {
  readonly body: ReadableStream<Uint8Array>;
  readonly #writer: WritableStreamDefaultWriter<Uint8Array>;
  isOpen = true;

  /** @param onGone its client has read all of it, or has left. */
  constructor(audience: Audience, onGone: (listener: StreamListener) => void) {
    super(audience);
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
    this.#write(utf8.encode(`retry: ${retry}\n`));
  }

  /** Here, the stream tells. */
  get waiting(): number {
    return -(this.#writer.desiredSize ?? 0);
  }

  send({ message }: Page): void {
    this.#write(message);
  }

  /** Keeps the connection: Node.js ends a body that brings nothing for 300 seconds. */
  comment(): void {
    this.#write(utf8.encode(":\n"));
  }

  end(): void {
    this.isOpen = false;
    this.#writer.close().catch(() => {});
  }

  #write(chunk: Uint8Array): void {
    // It rejects when the client has left.
    this.#writer.write(chunk).catch(() => {});
  }
}

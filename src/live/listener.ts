import { type Audience, type Page, utf8 } from "./audience.ts";

/** Characters that a listener gets, at most, before it has to come back: nothing tells how much of them waits in memory. */
export const MAX_CHARACTERS = 4 * 2 ** 20;
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
  /** What it sees, but for its own orders: equal for listeners that get equal pages. */
  readonly view: string;
  send(page: Page): void;
  /** Ends it, with a code of a closed socket. Whoever may come back learns the reason of a stream then. */
  end(code: number, reason: string): void;
  /** What it has got, compared with all that the hub has told. */
  isFull(told: number): boolean;
}

const viewOf = ({ types, customer }: Audience) => `${types.join()}${customer === null ? "*" : ""}`;

interface Attachment {
  audience: Audience;
  /** The characters that the hub had told before, less those of its own first pages. */
  base: number;
  ignored: number;
}

/** A socket. What it needs survives the hibernation of its hub. */
export class SocketListener implements Listener {
  readonly audience: Audience;
  readonly view: string;
  readonly #socket: WebSocket;
  #attachment: Attachment;

  constructor(socket: WebSocket, attachment: Attachment) {
    this.#socket = socket;
    this.#attachment = attachment;
    this.audience = attachment.audience;
    this.view = viewOf(attachment.audience);
  }

  /** A socket that the hub accepts now. */
  static accepted(socket: WebSocket, audience: Audience, told: number, first: readonly Page[]): SocketListener {
    const base = told - first.reduce((sum, { text }) => sum + text.length, 0);
    const listener = new SocketListener(socket, { audience, base, ignored: 0 });
    socket.serializeAttachment(listener.#attachment);
    return listener;
  }

  /** One that the hub had before. */
  static restored(socket: WebSocket): SocketListener {
    return new SocketListener(socket, socket.deserializeAttachment() as Attachment);
  }

  isFull(told: number): boolean {
    return told - this.#attachment.base > MAX_CHARACTERS;
  }

  send({ text }: Page): void {
    try {
      this.#socket.send(text);
    } catch {
      // The client has left. The hub hears of it.
    }
  }

  /** Takes a message of the client other than `ping`. Returns whether there were too many. */
  ignore(message: string | ArrayBuffer): boolean {
    const length = typeof message === "string" ? message.length : message.byteLength;
    const ignored = this.#attachment.ignored + 1;
    this.#attachment = { ...this.#attachment, ignored };
    this.#socket.serializeAttachment(this.#attachment);
    return ignored > MAX_IGNORED || length > MAX_MESSAGE;
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
  readonly view: string;
  readonly body: ReadableStream<Uint8Array>;
  #sink: ReadableStreamDefaultController<Uint8Array> | undefined;

  constructor(audience: Audience, onLeave: (listener: StreamListener) => void) {
    this.audience = audience;
    this.view = viewOf(audience);
    this.body = new ReadableStream<Uint8Array>(
      {
        start: (sink) => {
          this.#sink = sink;
        },
        cancel: () => onLeave(this),
      },
      { highWaterMark: MAX_CHARACTERS, size: (chunk) => chunk?.byteLength ?? 0 },
    );
    const retry = LEAST_RETRY + Math.floor(Math.random() * (MOST_RETRY - LEAST_RETRY));
    // Without a blank line, which some libraries take for the end of a message: that would have no data.
    this.#write(`retry: ${retry}\n`);
  }

  /** Here, the stream tells how much waits. */
  isFull(): boolean {
    return (this.#sink?.desiredSize ?? 0) <= 0;
  }

  send({ cursor, text }: Page): void {
    this.#write(`id: ${cursor}\ndata: ${text}\n\n`);
  }

  /** Keeps the connection: Node.js ends a body that brings nothing for 300 seconds. */
  comment(): void {
    this.#write(":\n");
  }

  end(): void {
    try {
      // A close would keep what waits for a reader.
      if (this.isFull()) this.#sink?.error(new Error("Nobody reads the stream"));
      else this.#sink?.close();
    } catch {
      // It is closed.
    }
  }

  #write(text: string): void {
    try {
      this.#sink?.enqueue(utf8.encode(text));
    } catch {
      // It is closed.
    }
  }
}

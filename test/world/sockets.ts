import type { Clock } from "./clock.ts";
import type { Random } from "./random.ts";

/** A message, or the code of the end of a socket. */
type Message = string | number;

/** Codes of RFC 6455: nobody said why it ended. */
export const BROKEN = 1006;
/** Milliseconds of a message on its way. Some clients are slow. */
const WAY = { least: 1, most: 120, slow: 40_000 };
const SLOW = 0.01;
/** Bytes of an attachment (Durable Objects documentation, WebSockets). */
const MAX_ATTACHMENT = 2_048;

/** The end of a client. */
export class Socket {
  /** Ends that of the service. */
  onClose: (code: number) => void = () => {};
  #hear: ((message: Message) => void) | undefined;
  readonly #waiting: Message[] = [];
  #isOpen = true;
  #arrives = 0;
  readonly #clock: Clock;
  readonly #random: Random;

  constructor(clock: Clock, random: Random) {
    [this.#clock, this.#random] = [clock, random];
  }

  get isHeard(): boolean {
    return this.#hear !== undefined;
  }

  /** Messages arrive in their order. */
  arrive(message: Message): void {
    const way = this.#random.delay(WAY.least, this.#random.chance(SLOW) ? WAY.slow : WAY.most);
    this.#arrives = Math.max(this.#arrives, this.#clock.now + way);
    this.#clock.after(this.#arrives - this.#clock.now, () => {
      if (!this.#isOpen) return;
      if (this.#hear === undefined) this.#waiting.push(message);
      else this.#hear(message);
    });
  }

  listen(hear: (message: Message) => void): void {
    this.#hear = hear;
    for (const message of this.#waiting) hear(message);
  }

  /** Hears nothing more. The service learns it after some milliseconds. */
  close(code: number, after: number): void {
    if (!this.#isOpen) return;
    this.#isOpen = false;
    this.#clock.after(after, () => this.onClose(code));
  }
}

/** The end of the service. */
export class ServerSocket {
  readonly client: Socket;
  isOpen = true;
  /** When its last message left. */
  left = 0;
  /** How a message leaves. */
  leave = (run: () => void): void => run();
  #attachment = "";

  constructor(client: Socket) {
    this.client = client;
  }

  get readyState(): number {
    return this.isOpen ? WebSocket.OPEN : WebSocket.CLOSING;
  }

  accept(): void {}

  send(text: string): void {
    if (!this.isOpen) throw new TypeError("Can't call WebSocket send() after close().");
    this.leave(() => this.client.arrive(text));
  }

  close(code: number): void {
    if (!this.isOpen) throw new TypeError("WebSocket is closed.");
    this.isOpen = false;
    this.leave(() => this.client.arrive(code));
  }

  serializeAttachment(value: object): void {
    this.#attachment = JSON.stringify(value);
    if (this.#attachment.length > MAX_ATTACHMENT) throw new RangeError("The attachment is too large.");
  }

  deserializeAttachment(): unknown {
    return JSON.parse(this.#attachment);
  }
}

/** The globals of a program for its sockets, which Node.js lacks. */
export const socketsOf = (clock: Clock, random: Random): unknown[] => [
  // The one of Node.js takes no 101.
  new Proxy(Response, {
    construct(target, [body, init]: [BodyInit?, (ResponseInit & { webSocket?: Socket })?]) {
      if (init?.status !== 101) return new target(body, init);
      const { status, webSocket, headers = {} } = init;
      return Object.defineProperties(new target(null, { headers }), {
        status: { value: status },
        webSocket: { value: webSocket },
      });
    },
  }),
  function WebSocketPair() {
    const client = new Socket(clock, random);
    return { 0: client, 1: new ServerSocket(client) };
  },
  function WebSocketRequestResponsePair() {},
];

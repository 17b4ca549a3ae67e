import { createHmac } from "node:crypto";
import { setTimeout } from "node:timers/promises";

/** Milliseconds before each attempt. The service would go on for days. */
const DELAYS = [0, 1_000, 2_000, 4_000];
/** Milliseconds of an attempt, and attempts at once, as of a webhook. */
const TIMEOUT = 15_000;
const MAX_AT_ONCE = 6;

/** A receiver of webhooks on this machine. */
export class Receiver {
  readonly #address: URL;
  readonly #secret: Buffer;
  readonly #print: (line: string) => void;
  readonly #pause: (milliseconds: number) => Promise<void>;
  #running = 0;
  readonly #queue: (() => void)[] = [];

  /**
   * @param secret `whsec_` and base64.
   * @param print writes a line.
   * @param pause waits before an attempt.
   */
  constructor(address: URL, secret: string, print: (line: string) => void, pause = setTimeout<void>) {
    this.#address = address;
    this.#secret = Buffer.from(secret.slice("whsec_".length), "base64");
    this.#print = print;
    this.#pause = pause;
  }

  /** Delivers a message, and prints a line for each attempt. Never rejects: after the last attempt, it gives the message up. */
  async deliver(id: string, type: string, body: string): Promise<void> {
    for (const [index, delay] of DELAYS.entries()) {
      await this.#pause(delay);
      let begin = 0;
      const outcome = await this.#inTurn(() => {
        begin = performance.now();
        return this.#attempt(id, body);
      });
      const next = DELAYS[index + 1];
      const isTaken = outcome.startsWith("2");
      const rest = isTaken ? "" : next === undefined ? ", given up" : `, again in ${next / 1_000} s`;
      this.#print(`${outcome} ${type} ${id} ${Math.round(performance.now() - begin)} ms${rest}`);
      if (isTaken) return;
    }
  }

  /** Waits until fewer attempts run. */
  async #inTurn<Result>(run: () => Promise<Result>): Promise<Result> {
    if (this.#running === MAX_AT_ONCE) await new Promise<void>((resolve) => this.#queue.push(resolve));
    else this.#running++;
    try {
      return await run();
    } finally {
      const next = this.#queue.shift();
      if (next === undefined) this.#running--;
      else next();
    }
  }

  /** Sends what the service would send (Standard Webhooks 1.0). Returns the status, or why there is none. */
  async #attempt(id: string, body: string): Promise<string> {
    const timestamp = Math.floor(Date.now() / 1_000);
    const signature = createHmac("sha256", this.#secret).update(`${id}.${timestamp}.${body}`).digest("base64");
    const headers = {
      "content-type": "application/json",
      "user-agent": "PetStore-Webhooks/1",
      "webhook-id": id,
      "webhook-timestamp": String(timestamp),
      "webhook-signature": `v1,${signature}`,
    };
    const signal = AbortSignal.timeout(TIMEOUT);
    try {
      // A redirect may lead to another machine.
      const response = await fetch(this.#address, { method: "POST", headers, body, redirect: "manual", signal });
      response.body?.cancel().catch(() => {});
      return String(response.status);
    } catch (error) {
      if (signal.aborted) return "timeout";
      const { code = "no connection" } = Object((error as Error).cause) as { code?: string };
      return code;
    }
  }
}

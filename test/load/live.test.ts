import { setTimeout as wait } from "node:timers/promises";
import { expect, inject, test, vi } from "vitest";
import { FragileService } from "./fragile-service.ts";

/** `LIVE_SECONDS=600 LIVE_KILLS=10` is for a change of the hub. */
const SECONDS = Number(process.env["LIVE_SECONDS"] ?? 20);
const KILLS = Number(process.env["LIVE_KILLS"] ?? 2);
/** Milliseconds. */
const TIMEOUT = 120_000 + 2_000 * SECONDS + 30_000 * KILLS;
const CUSTOMERS = ["ada", "bo", "cy"];
/** Seconds of a token, so that most end while their listeners listen. */
const TOKEN_SECONDS = 60;

/** Instead of the code of a socket that the service has closed. */
const CLOSING = 2;

interface Event {
  id: string;
  type: string;
  customer?: string | undefined;
}

/** Who listens: what it may see, and how. */
interface Kind {
  type?: string;
  customer?: string;
  isStream?: true;
}

const KINDS: Kind[] = [
  ...Array.from({ length: 6 }, () => ({})),
  ...["pet.created", "order.updated", "pet.updated"].map((type) => ({ type })),
  ...CUSTOMERS.flatMap((customer) => [{ customer }, { customer }, { customer, type: "order.placed" }]),
  { isStream: true as const },
  { isStream: true as const, customer: "ada" },
];

const sees = ({ type, customer }: Kind, event: Event): boolean =>
  (type === undefined || event.type === type) &&
  (customer === undefined || !event.type.startsWith("order.") || event.customer === customer);

/** A client that comes back with its cursor until it is stopped. */
class Client {
  readonly kind: Kind;
  readonly heard: string[] = [];
  readonly ends: number[] = [];
  first: string | undefined;
  /** The last change that it heard of, as its type and its id. */
  last = "";
  cursor = "latest";
  #credential = "";
  readonly #service: FragileService;
  readonly #controller = new AbortController();

  constructor(service: FragileService, kind: Kind) {
    [this.#service, this.kind] = [service, kind];
  }

  async run(): Promise<void> {
    const { signal } = this.#controller;
    while (!signal.aborted) {
      try {
        this.#credential ||= await this.#authorize();
        const end = await (this.kind.isStream ? this.#stream() : this.#socket());
        this.ends.push(end);
        if ([CLOSING, 4401, 401].includes(end)) this.#credential = "";
      } catch {
        this.ends.push(0);
      }
      await wait(100 + 400 * Math.random());
    }
  }

  stop(): void {
    this.#controller.abort();
  }

  async #authorize(): Promise<string> {
    const { customer } = this.kind;
    const [key = ""] = this.#service.keys;
    if (customer === undefined) return key;
    const headers = { Authorization: `Bearer ${key}`, "Content-Type": "application/json" };
    const body = JSON.stringify({ customer, expiresIn: TOKEN_SECONDS });
    const response = await fetch(new URL("/v1/key/tokens", this.#service.url), { method: "POST", headers, body });
    return ((await response.json()) as { token: string }).token;
  }

  get #address(): URL {
    const url = new URL(`/v1/events/live?cursor=${this.cursor}`, this.#service.url);
    if (this.kind.type !== undefined) url.searchParams.set("type", this.kind.type);
    return url;
  }

  #take(text: string): void {
    const { events, cursor } = JSON.parse(text) as {
      events: { id: string; type: string; data: { id: number } }[];
      cursor: string;
    };
    this.first ??= cursor;
    for (const { type, data } of events) this.last = `${type} ${data.id}`;
    this.heard.push(...events.map(({ id }) => id));
    this.cursor = cursor;
  }

  async #socket(): Promise<number> {
    const url = this.#address;
    url.protocol = "ws:";
    const socket = new WebSocket(url.href, ["petstore.live.v1", this.#credential]);
    socket.addEventListener("message", ({ data }) => this.#take(String(data)));
    return await new Promise((resolve) => {
      socket.addEventListener("close", ({ code }) => resolve(code));
      // Node.js waits until workerd closes the connection, which it does not while others listen.
      const closing = setInterval(() => socket.readyState === WebSocket.CLOSING && resolve(CLOSING), 500);
      socket.addEventListener("close", () => clearInterval(closing));
      this.#controller.signal.addEventListener("abort", () => {
        socket.close();
        resolve(1);
      });
    });
  }

  async #stream(): Promise<number> {
    const headers = { Authorization: `Bearer ${this.#credential}`, Accept: "text/event-stream" };
    const { signal } = this.#controller;
    const { status, body } = await fetch(this.#address, { headers, signal });
    if (status !== 200 || body === null) return status;
    let text = "";
    for await (const chunk of body.pipeThrough(new TextDecoderStream())) {
      const messages = (text + chunk).split("\n\n");
      text = messages.pop() ?? "";
      for (const message of messages) {
        const [, page] = /^data: (.*)$/m.exec(message) ?? [];
        if (page !== undefined) this.#take(page);
      }
    }
    return 1;
  }
}

const senderOf = (service: FragileService) => async (method: string, path: string, body: object) => {
  const headers = { Authorization: `Bearer ${service.keys[1]}`, "Content-Type": "application/json" };
  const response = await fetch(new URL(path, service.url), { method, headers, body: JSON.stringify(body) });
  if (!response.ok) throw new Error(await response.text());
  return (await response.json()) as { id: number };
};

/** Makes changes until the time is over. What a kill loses is not made again. */
async function change(service: FragileService, isOver: () => boolean): Promise<void> {
  const send = senderOf(service);
  for (let turn = 0; !isOver(); turn++) {
    try {
      const customer = CUSTOMERS[turn % 4];
      const { id: petId } = await send("POST", "/v1/pets", { name: "Rex", categoryId: 1 });
      const { id } = await send("POST", "/v1/store/orders", { petId, ...(customer !== undefined && { customer }) });
      if (turn % 3 === 0) await send("PATCH", `/v1/store/orders/${id}`, { customer: CUSTOMERS[(turn + 1) % 3] });
      if (turn % 5 === 0) await send("PATCH", `/v1/store/orders/${id}`, { customer: null, reference: "of nobody" });
    } catch {
      // The service was killed.
    }
    await wait(50);
  }
}

/** Makes changes of which each kind sees one at least. Returns their events, each with the id of what it is about. */
async function changeLast(service: FragileService): Promise<Event[]> {
  const send = senderOf(service);
  const events: Event[] = [];
  for (const customer of CUSTOMERS) {
    const { id: petId } = await send("POST", "/v1/pets", { name: "Rex", categoryId: 1 });
    const { id } = await send("POST", "/v1/store/orders", { petId, customer });
    await send("PATCH", `/v1/store/orders/${id}`, { reference: "the last" });
    events.push({ type: "pet.created", id: String(petId) }, { type: "pet.updated", id: String(petId) });
    events.push(...["order.placed", "order.updated"].map((type) => ({ type, id: String(id), customer })));
  }
  return events;
}

// Promise: live-cursors
test(
  `20 listeners hear the feed by their rights, over ${KILLS} kills in ${SECONDS} seconds`,
  { timeout: TIMEOUT },
  async () => {
    await using service = await FragileService.start(inject("bundle"), 2, "local");
    const clients = KINDS.map((kind) => new Client(service, kind));
    const running = clients.map((client) => client.run());
    await vi.waitFor(() => expect(clients.every(({ first }) => first !== undefined)).toBe(true), { timeout: 60_000 });
    let isOver = false;
    const changing = change(service, () => isOver);
    for (let kills = 0; kills < KILLS; kills++) {
      await wait((1_000 * SECONDS) / (KILLS + 1));
      await service.restart();
    }
    await wait((1_000 * SECONDS) / (KILLS + 1));
    isOver = true;
    await changing;
    const events = await changeLast(service);
    const lastOf = (kind: Kind) => events.findLast((event) => sees(kind, event)) ?? expect.unreachable();
    const heardLast = ({ kind, last }: Client) => expect(last).toBe(`${lastOf(kind).type} ${lastOf(kind).id}`);
    await vi.waitFor(() => clients.forEach(heardLast), { timeout: 60_000 });
    for (const client of clients) client.stop();
    await Promise.all(running);
    await service.kill();
    const rows = service.read(
      "SELECT printf('%016x%08x', id, tag) AS place, type, data ->> 'customer' AS customer FROM events ORDER BY id",
    );
    for (const [index, { kind, heard, first = "", ends }] of clients.entries()) {
      const expected = rows
        .filter(({ place }) => String(place) > first.slice(0, 24))
        .map(({ place, type, customer }) => ({
          id: `evt_${String(place)}`,
          type: String(type),
          customer: customer as string | undefined,
        }))
        .filter((event) => sees(kind, event))
        .map(({ id }) => id);
      const wrong = expected.findIndex((id, at) => id !== heard[at]);
      // Not the arrays: a difference of thousands takes minutes to print.
      const told = `listener ${index}, ${JSON.stringify(kind)}, ended with ${ends.slice(-20).join()}: ${heard[wrong]} for ${expected[wrong]}`;
      expect([wrong, heard.length], told).toEqual([-1, expected.length]);
      expect(heard.length, told).toBeGreaterThan(0);
    }
    const codes = Map.groupBy(
      clients.flatMap(({ ends }) => ends),
      (code) => code,
    );
    const received = clients.reduce((sum, { heard }) => sum + heard.length, 0);
    console.log(
      `${rows.length} events, ${received} received, ends: ${[...codes].map(([code, all]) => `${all.length} ${code}`).join(", ")}`,
    );
    expect(codes.has(4410)).toBe(false);
  },
);

import { AsyncLocalStorage } from "node:async_hooks";
import type { PetStore, Session } from "../../client/src/index.ts";
import type { Clock } from "./clock.ts";
import type { Exchange, History } from "./history.ts";
import { Known } from "./known.ts";
import type { ApiKey } from "./operators.ts";
import type { RandomOf } from "./random.ts";
import type { Service } from "./service.ts";
import { asReleased } from "./specification.ts";

const BASE_URL = "https://petstore.example";

/** The parts of the world that clients use. */
export interface Surroundings {
  clock: Clock;
  history: History;
  service: Service;
  /** The official client. One copy serves all programs, because code that is new is slow. */
  PetStore: typeof PetStore;
  random: RandomOf;
  /** The commit that serves some requests. Then they have only the parameters that it knows. */
  beside: string | undefined;
}

/** What the sender of a request decides. */
export type Sent = Pick<Exchange, "method" | "path" | "headers" | "body" | "refusal" | "session" | "call" | "isTool">;

/** Sends the requests of the world: those of sessions of the official client, and those on their own. */
export class Clients {
  /** The step whose requests begin. */
  step = 0;
  readonly known = new Known();
  readonly #world: Surroundings;
  /** The number and the step of a call, also while the client repeats its request. */
  readonly #call = new AsyncLocalStorage<{ call: number; step: number }>();
  #calls = 0;
  /** The requests that each step has sent, which gives each its own chance. */
  readonly #sent = new Map<number, number>();
  #sessions = 0;

  constructor(world: Surroundings) {
    this.#world = world;
  }

  /** Sends a request, through a network that may lose it. @throws TypeError when it does. */
  async send(
    sent: Sent,
    key: ApiKey,
    location: number,
    step = this.step,
    signal?: AbortSignal | null,
  ): Promise<Response> {
    const { clock, history, service, random, beside } = this.#world;
    // An earlier version refuses a parameter that it does not know, and ignores a field.
    const path = beside !== undefined && sent.refusal === undefined ? asReleased(sent, beside).path : sent.path;
    const request = { ...sent, path };
    const nth = (this.#sent.get(step) ?? 0) + 1;
    this.#sent.set(step, nth);
    const length = request.body === undefined ? {} : { "Content-Length": String(Buffer.byteLength(request.body)) };
    const exchange: Exchange = {
      id: history.exchanges.length + 1,
      step,
      apiKey: key.name,
      token: key.token,
      sentAt: clock.now,
      trips: [],
      faults: [],
      isolate: "",
      version: "",
      ...request,
      headers: { Authorization: `Bearer ${key.secret}`, ...length, ...request.headers },
    };
    const response = await service.send(exchange, location, random("request", step, nth));
    // The client does not see a response after its time.
    if (signal?.aborted) delete exchange.receivedAt;
    else this.known.hear(exchange);
    return response;
  }

  /** Starts a session, which goes on where another one was if it has a bookmark. Its requests fail when its program has ended. */
  start(location: number, key: ApiKey, bookmark?: string, isAlive = () => true): Session {
    const { clock, history, PetStore } = this.#world;
    const session = `session ${++this.#sessions}`;
    const fetch = async (url: string, { method = "GET", headers, body, signal }: RequestInit): Promise<Response> => {
      // Not a failure of the network, after which the client would try again.
      if (!isAlive()) throw new Error("The program has ended");
      const fields = Object.fromEntries((headers as [string, string][]).filter(([field]) => field !== "Authorization"));
      const request = { method, path: url.replace(BASE_URL, ""), headers: fields, body: body as string | undefined };
      const { call, step } = this.#call.getStore() ?? {};
      return this.send({ ...request, session, call }, key, location, step, signal);
    };
    const client = new PetStore({ baseUrl: `${BASE_URL}/v1`, apiKey: key.secret, fetch }).session(bookmark);
    if (bookmark !== undefined)
      history.occurred(clock.now, `${session} goes on from ${bookmark}`, { session, bookmark });
    return client;
  }

  /** Makes a call, whose requests belong to this step for as long as it lasts. */
  call<Result>(run: () => Result): Result {
    return this.#call.run({ call: ++this.#calls, step: this.step }, run);
  }

  /** Sends the same read at these times. */
  poll(key: ApiKey, location: number, times: number[], headersOf: () => Exchange["headers"] = () => ({})): void {
    const { clock } = this.#world;
    const { step } = this;
    const request = { method: "GET", path: "/v1/pets?limit=1", body: undefined, session: undefined };
    for (const time of times) {
      const headers = headersOf();
      clock.after(time - clock.now, () => void this.send({ ...request, headers }, key, location, step).catch(() => {}));
    }
  }
}

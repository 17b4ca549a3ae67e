import { once } from "node:events";
import { Agent, createServer, type IncomingMessage, request, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { buffer } from "node:stream/consumers";
import { setTimeout as wait } from "node:timers/promises";

interface Answer {
  status: number;
  headers: IncomingMessage["headers"];
  body: Buffer;
}

type Forward = () => Promise<Answer>;

/** @param delay milliseconds, more than the client waits. */
type Fault = (response: ServerResponse, forward: Forward, delay: number) => Promise<void>;

const HTML = "<!doctype html><title>502 Bad Gateway</title><h1>Bad Gateway</h1>";
const UNAVAILABLE = JSON.stringify({ code: "service_unavailable", message: "Chaos.", status: 503 });
const LIMITED = JSON.stringify({ code: "rate_limited", message: "Chaos.", status: 429 });

const refuse =
  (status: number, body: string, headers: Record<string, string> = {}): Fault =>
  async (response) => {
    response.writeHead(status, headers).end(body);
  };

const FAULTS = {
  "connection dropped before the request": async (response) => {
    response.destroy();
  },
  "connection dropped after the write": async (response, forward) => {
    await forward();
    response.destroy();
  },
  "connection reset after the write": async (response, forward) => {
    await forward();
    response.socket?.resetAndDestroy();
  },
  "response later than the timeout": async (response, forward, delay) => {
    const answer = await forward();
    await wait(delay);
    pass(response, answer);
  },
  "response that ends early": async (response, forward) => {
    const { status, headers, body } = await forward();
    response.writeHead(status, headers).write(body.subarray(0, body.length / 2), () => response.destroy());
  },
  "response that is cut and looks complete": async (response, forward) => {
    const { status, headers, body } = await forward();
    const half = body.subarray(0, body.length / 2);
    pass(response, { status, headers: { ...headers, "content-length": String(half.length) }, body: half });
  },
  "HTML with 502 before the request": refuse(502, HTML, { "Content-Type": "text/html" }),
  "HTML with 502 after the write": async (response, forward) => {
    await forward();
    response.writeHead(502, { "Content-Type": "text/html" }).end(HTML);
  },
  "503 with Retry-After": refuse(503, UNAVAILABLE, { "Retry-After": "1" }),
  "503 without Retry-After": refuse(503, UNAVAILABLE),
  "503 after the write": async (response, forward) => {
    await forward();
    response.writeHead(503).end(UNAVAILABLE);
  },
  "503 with Retry-After after the write": async (response, forward) => {
    await forward();
    response.writeHead(503, { "Retry-After": "1" }).end(UNAVAILABLE);
  },
  "429 with Retry-After": refuse(429, LIMITED, { "Retry-After": "1" }),
  "response that is late, but in time": async (response, forward, delay) => {
    const answer = await forward();
    await wait(delay / 10);
    pass(response, answer);
  },
} satisfies Record<string, Fault>;

export type FaultName = keyof typeof FAULTS;

/** The fault for a request, if any. The request waits for it. */
export type Choice = (request: IncomingMessage) => FaultName | undefined | Promise<FaultName | undefined>;

/** @param share of the requests with a fault, from 0 to 1. */
export function atRandom(share: number): Choice {
  const names = Object.keys(FAULTS) as FaultName[];
  return () => (Math.random() < share ? names[Math.floor(Math.random() * names.length)] : undefined);
}

/** Counted when the service itself did not respond. */
const UNPLANNED = "connection to the service failed";

export interface ChaosProxy extends AsyncDisposable {
  url: URL;
  faults: Map<string, number>;
  requests: number;
  close(): Promise<void>;
}

/**
 * Starts a proxy on 127.0.0.1 that makes some requests fail, or none.
 *
 * @param delay milliseconds, more than the client waits for a response.
 */
export async function startChaosProxy(service: URL, choose: Choice = () => undefined, delay = 0): Promise<ChaosProxy> {
  const agent = new Agent({ keepAlive: true });
  const faults = new Map<string, number>(Object.keys(FAULTS).map((name) => [name, 0]));

  const server = createServer((incoming, response) => {
    proxy.requests++;
    serve(incoming, response).catch(() => {
      count(UNPLANNED);
      response.destroy();
    });
  });

  function count(fault: string): void {
    faults.set(fault, (faults.get(fault) ?? 0) + 1);
  }

  async function serve(incoming: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = await buffer(incoming);
    const forward = () => send(service, agent, incoming, body);
    const name = await choose(incoming);
    if (name === undefined) return pass(response, await forward());
    count(name);
    await FAULTS[name](response, forward, delay);
  }

  await once(server.listen(0, "127.0.0.1"), "listening");
  const proxy: ChaosProxy = {
    url: new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}`),
    faults,
    requests: 0,
    close: async () => {
      server.close();
      server.closeAllConnections();
      agent.destroy();
    },
    [Symbol.asyncDispose]: () => proxy.close(),
  };
  return proxy;
}

async function send(service: URL, agent: Agent, incoming: IncomingMessage, body: Buffer): Promise<Answer> {
  const { method, headers } = incoming;
  const outgoing = request(new URL(incoming.url ?? "", service).href, {
    agent,
    method,
    headers: { ...headers, host: service.host, connection: "keep-alive" },
  });
  outgoing.end(body);
  const [answer] = (await once(outgoing, "response")) as [IncomingMessage];
  return { status: answer.statusCode ?? 0, headers: answer.headers, body: await buffer(answer) };
}

function pass(response: ServerResponse, { status, headers, body }: Answer): void {
  const { connection: _connection, "transfer-encoding": _encoding, ...own } = headers;
  response.writeHead(status, own).end(body);
}

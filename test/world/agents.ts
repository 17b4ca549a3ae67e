import tools from "../../public/tools.json" with { type: "json" };
import type { Clients, Sent } from "./clients.ts";
import type { Clock } from "./clock.ts";
import type { Exchange, History } from "./history.ts";
import type { ApiKey } from "./operators.ts";
import type { Random } from "./random.ts";
import { roughRequest } from "./rough.ts";
import { LOCATIONS } from "./service.ts";
import type { Expected } from "./specification.ts";

/** Requests for one call, at most. */
const ATTEMPTS = 3;
/** The share of calls that an agent repeats though it has the result. */
const AGAIN = 0.4;
/** The share of repetitions that a program sends in the place of the agent. */
const PLAIN = 0.3;
/** The share of creations with a key that others may have used. */
const SHARED = 0.2;
/** Milliseconds between two requests of an agent, at most. */
const PAUSE = 20_000;

const TOOLS = tools.tools.map(({ definition: { name }, method, path }) => {
  const pattern = new RegExp(`^${path.replace(/\{(\w+)\}/g, "(?<$1>\\d+)")}$`);
  return { name, method, pattern };
});

/** The name of the tool for a request, and the arguments that are in its path. */
function toolFor({ method, path }: Pick<Sent, "method" | "path">) {
  const [pathname = ""] = path.split("?");
  const tool = TOOLS.find((one) => one.method === method && one.pattern.test(pathname));
  return tool && { name: tool.name, values: tool.pattern.exec(pathname)?.groups };
}

/** Agents, which call tools. They repeat calls, also as plain requests, and look at what they changed. */
export class Agents {
  readonly #clients: Clients;
  readonly #clock: Clock;
  readonly #keys: readonly ApiKey[];

  constructor(clients: Clients, clock: Clock, keys: readonly ApiKey[]) {
    this.#clients = clients;
    this.#clock = clock;
    this.#keys = keys;
  }

  async call(random: Random): Promise<void> {
    const { step } = this.#clients;
    const key = random.pick(this.#keys);
    const request = this.#request(random);
    const { method, path } = request;
    const send = (sent: Sent) =>
      this.#clients.send(sent, key, random.between(0, LOCATIONS - 1), step).catch(() => undefined);
    let response = await send(request);
    for (let attempt = 1; attempt < ATTEMPTS; attempt++) {
      if (response !== undefined && response.status !== 503 && !random.chance(AGAIN)) break;
      await this.#clock.wait(random.delay(0, PAUSE));
      response = await send({ ...request, isTool: !random.chance(PLAIN) });
    }
    const cursor = /[?&]cursor=([\w-]+)/.exec(response?.headers.get("Link") ?? "")?.[1];
    const list = `${/^\/v1\/(?:store\/)?\w+/.exec(path)?.[0]}?limit=3`;
    const next =
      method === "GET" ? cursor && `${path.replace(/&cursor=[^&]*/, "")}&cursor=${cursor}` : `${list}&sort=-id`;
    if (next !== undefined) await send({ ...request, method: "GET", path: next, headers: {}, body: undefined });
  }

  /** A request for which there is a tool, with nothing that the tool does not take. */
  #request(random: Random): Sent {
    const { method, path, headers, body, refusal } = roughRequest(random, this.#clients.known, 0);
    const isSale = path === "/v1/pets/batch" && body?.includes('"sold"');
    if (refusal !== undefined || isSale || toolFor({ method, path }) === undefined) return this.#request(random);
    const type = body === undefined ? {} : { "Content-Type": "application/json" };
    const shared = random.chance(SHARED) ? headers["Idempotency-Key"] : undefined;
    const own = shared ?? (method === "POST" ? random.uuid() : undefined);
    const key = own === undefined ? {} : { "Idempotency-Key": own };
    return { method, path, headers: { ...type, ...key }, body, session: undefined, isTool: true };
  }
}

/** Makes texts of the integers in fields of ids, and integers of the texts. */
const exchangeIds = (json: string) =>
  json.replaceAll(/"(id|petId|categoryId)":(?:"(-?\d+)"|(-?\d+))/g, (_, name: string, text?: string, integer = "") =>
    text === undefined ? `"${name}":"${integer}"` : `"${name}":${text}`,
  );

/** The call of a tool that stands for a request. */
export function callFor({ id, method, path, headers, body }: Exchange): Request {
  const { name, values } = toolFor({ method, path }) ?? { name: "" };
  const { "Idempotency-Key": idempotencyKey, Authorization = "" } = headers;
  const query = [...new URLSearchParams(path.split("?")[1])].map(
    ([parameter, value]) => [parameter, parameter === "limit" ? Number(value) : value] as const,
  );
  const sent = body === undefined ? {} : (JSON.parse(exchangeIds(body)) as object);
  const fields = Array.isArray(sent) ? { items: sent as object[] } : sent;
  const params = { name, arguments: { ...values, ...Object.fromEntries(query), ...fields, idempotencyKey } };
  return new Request("https://petstore.example/mcp", {
    method: "POST",
    headers: { Authorization, "Content-Type": "application/json", "MCP-Protocol-Version": "2025-11-25" },
    body: JSON.stringify({ jsonrpc: "2.0", id, method: "tools/call", params }),
  });
}

interface Message {
  id: number;
  result?: { content: [{ text: string }]; isError?: true };
}

/** The members of a result that no response has in its body, beside those that it has. */
interface Told {
  replayed?: boolean;
  nextCursor?: string;
  [member: string]: unknown;
}

/** What the result of a call says that the response to its plain request is. Anything else stays as it is, which no model answers. */
export function plainOf({ id }: Exchange, { status, headers }: Response, text: string): [Response, string] {
  const message = status === 200 ? (JSON.parse(text) as Message) : undefined;
  if (message?.result === undefined || message.id !== id) return [new Response(null, { status, headers }), text];
  const { content, isError } = message.result;
  const { replayed, nextCursor, ...rest } = JSON.parse(content[0].text) as Told;
  if (isError) return [new Response(null, { status: Number(rest["status"]) }), content[0].text];
  const seen = new Response(null, {
    headers: {
      ...(replayed === true && { "Idempotency-Replayed": "true" }),
      ...(nextCursor !== undefined && { Link: `<?cursor=${nextCursor}>; rel="next"` }),
    },
  });
  return [seen, rest["done"] === true ? "" : exchangeIds(JSON.stringify(rest["items"] ?? rest))];
}

/** What the result of a call tells of an answer. */
export function toldOf({ etag: _etag, location: _location, ...answer }: Expected): Expected {
  return { ...answer, status: answer.status < 400 ? 200 : answer.status };
}

/** A call reaches the database, and one that reads sees everything that was written before it was sent. */
export function* agentsSeeEveryWrite({ history }: { history: History }) {
  let written = 0;
  const least = new Map<Exchange, number>();
  for (const event of history.events) {
    if (event.kind === "occurrence") written = Math.max(written, event.state ?? 0);
    else if (event.kind === "request") least.set(event.exchange, written);
    else if (event.kind === "trip") {
      const { exchange, instance, after } = event;
      const needed = least.get(exchange) ?? 0;
      if (exchange.isTool && instance !== undefined && after < needed)
        yield { exchange, message: `The call has seen state ${after}, and state ${needed} was there before.` };
      written = Math.max(written, after);
    } else {
      const { exchange } = event;
      const { isTool, trips, status = 503 } = exchange;
      if (isTool && trips.length === 0 && ![401, 429, 503].includes(status))
        yield { exchange, message: `The call gets a ${status} without the database.` };
    }
  }
}

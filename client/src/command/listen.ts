import { randomBytes } from "node:crypto";
import { PetStore } from "../index.ts";
import { eventsIn } from "./page.ts";
import { Receiver } from "./receiver.ts";

/** What to follow, and whom to tell. */
export interface ListenOptions {
  /** The address of the API with its version. */
  baseUrl: string;
  apiKey: string;
  receiver: URL;
  /** `whsec_` and base64. */
  secret: string;
  /** A cursor of the feed, or `latest`. */
  from: string;
  /** Every type that the key may read unless given. */
  types: string[] | undefined;
}

const LATEST = "latest";
/** Milliseconds between two reads at the end of the feed. A webhook is as fast. */
const PAUSE = 1_000;
/** Events that wait, at most. Until there is room, the feed keeps the others. */
const MAX_WAITING = 1_000;

/**
 * Follows the feed, and forwards each event, until the process ends. Events of one resource go in their order: a later one waits until an
 * earlier one succeeds or is given up.
 *
 * @param print writes a line.
 * @throws PetStoreError when the feed cannot be read. Failures that may pass are only printed.
 */
export async function listen(
  { baseUrl, apiKey, receiver: address, secret, from, types }: ListenOptions,
  print: (line: string) => void,
): Promise<never> {
  /** The events as the service wrote them, by their id. Parsing and writing them again may change a byte. */
  const bodies = new Map<string, string>();
  const session = new PetStore({
    baseUrl,
    apiKey,
    userAgent: "petstore-listen",
    async fetch(url, init) {
      const response = await fetch(url, init);
      if (!response.ok) return response;
      const page = await response.text();
      for (const [id, body] of eventsIn(page)) bodies.set(id, body);
      return new Response(page, response);
    },
    onAttempt({ error, retryIn }) {
      if (error !== undefined && retryIn !== undefined) print(`The service: ${error.code}. ${error.message}`);
    },
  }).session();
  const receiver = new Receiver(address, secret, print);
  const waiting = new Set<Promise<void>>();
  /** The last event of each resource that waits. */
  const last = new Map<string, Promise<void>>();
  let isLost = false;
  let place = from;
  const tellPlace = () => print(`Forwarding what follows ${place} to ${address.href}. Ctrl+C ends it.`);

  print(`The secret is ${secret}`);
  if (from !== LATEST) tellPlace();
  const feed = session.events.follow({
    cursor: from,
    types,
    idle: () => PAUSE,
    onReset(error) {
      isLost = error !== undefined;
      place = LATEST;
    },
  });
  for await (const { events, cursor } of feed) {
    const isNew = place === LATEST;
    place = cursor;
    if (isNew) tellPlace();
    if (isLost) {
      isLost = false;
      await Promise.all(waiting);
      const id = `msg_${randomBytes(16).toString("base64url")}`;
      const data = { cursor, bookmark: session.bookmark };
      await receiver.deliver(id, "feed.reset", JSON.stringify({ id, type: "feed.reset", timestamp: new Date(), data }));
    }
    for (const { id, type, data } of events) {
      const resource = `${type.split(".")[0]} ${String((data as { id?: unknown }).id)}`;
      const body = bodies.get(id) ?? "";
      const before = last.get(resource);
      const deliver = async (): Promise<void> => {
        await before;
        await receiver.deliver(id, type, body);
        waiting.delete(delivery);
        if (last.get(resource) === delivery) last.delete(resource);
      };
      const delivery = deliver();
      last.set(resource, delivery);
      waiting.add(delivery);
      while (waiting.size >= MAX_WAITING) await Promise.race(waiting);
    }
    bodies.clear();
  }
  throw new Error("The feed has no end");
}

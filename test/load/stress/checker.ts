import { codeOf } from "../../world/specification.ts";
import type { Sent } from "./programs.ts";

/** What is in the file of the database at the end. */
export interface Stored {
  /** In the order of the transactions. */
  events: { type: string; version: bigint; data: string }[];
  /** The responses that are kept under an `Idempotency-Key`. */
  keys: { key: string; response: string }[];
  /** The ids and versions of the resources of each type. */
  rows: { [type: string]: { id: bigint; version: bigint }[] };
}

const RESOURCE = /^\/v1\/(?:store\/)?(pets|orders|categories)(?:\/(\d+))?/;
const TYPES: { [path: string]: string } = { pets: "pet", orders: "order", categories: "category" };
const externalIdsOf = (text: string) => Array.from(text.matchAll(/"externalId":"([^"]+)"/g), ([, id = ""]) => id);
const idsOf = (text: string) => Array.from(text.matchAll(/\{"id":(\d+)/g), ([, id = ""]) => id);

/**
 * The events tell one history: every resource has one version after another, no animal is sold twice, and the tables are its end. Every
 * response tells a part of this history, whatever was killed or lost. Every creation belongs to one `Idempotency-Key`, or to an import of its
 * `externalId`.
 */
export function* contradictions(sent: readonly Sent[], { events, keys, rows }: Stored): Generator<string> {
  /** The states of each resource, from version 1 to the last. */
  const states = new Map<string, { type: string; data: string }[]>();
  const sold = new Set<unknown>();
  for (const { type, version, data } of events) {
    const name = `${type.split(".")[0]} ${idsOf(data)[0]}`;
    const known = states.get(name) ?? [];
    if (Number(version) !== known.length + 1) yield `${type} of ${name} has version ${version} after ${known.length}.`;
    states.set(name, [...known, { type, data }]);
    const { petId } = JSON.parse(data) as { petId?: number };
    if (type === "order.placed" && sold.has(petId)) yield `The animal ${petId} is sold twice.`;
    if (type === "order.placed") sold.add(petId);
    if (type === "order.cancelled") sold.delete(petId);
  }
  for (const [type, table] of Object.entries(rows)) {
    const left = [...states].filter(([name, all]) => name.startsWith(`${type} `) && !isDeleted(all));
    const ended = new Set(left.map(([name, all]) => `${name} ${all.length}`));
    for (const different of ended.symmetricDifference(new Set(table.map((row) => `${type} ${row.id} ${row.version}`))))
      yield `The table and the events do not both have ${different}.`;
  }
  const responses = new Map(keys.map(({ key, response }) => [key, response]));
  const explained = new Set(keys.flatMap(({ response }) => idsOf(response).map((id) => `${kindOf(response)} ${id}`)));
  const imports = sent.filter(({ method }) => method === "PUT").flatMap(({ body = "" }) => externalIdsOf(body));
  const imported = new Set(imports);
  for (const [name, [created]] of states) {
    const [externalId] = externalIdsOf(created?.data ?? "");
    const isImported = externalId !== undefined && imported.has(externalId);
    if (!explained.has(name) && !isImported) yield `No Idempotency-Key belongs to the creation of ${name}.`;
  }
  for (const { method, path, headers, status = 0, responseHeaders, text = "", isProxied } of sent) {
    const what = `${method} ${path} ${status} ${text}`;
    const [, collection = "", id] = RESOURCE.exec(path) ?? [];
    const type = TYPES[collection];
    if (status === 500 || (status === 0 && !isProxied)) yield `${what}: the response is lost, or a failure.`;
    if (type === undefined || status === 0) continue;
    const version = Number(/^"(\d+)"$/.exec(responseHeaders?.get("ETag") ?? "")?.[1]);
    const of = (one: string | undefined) => states.get(`${type} ${one}`) ?? [];
    if (status === 200 && id !== undefined && of(id)[version - 1]?.data !== text) {
      yield `${what}: version ${version} is ${of(id)[version - 1]?.data}.`;
    }
    if (status === 200 && id === undefined && idsOf(text).some((one) => !of(one).some(({ data }) => isIn(data, text))))
      yield `${what}: an item never had this state.`;
    if (status === 201) {
      const first = idsOf(text).map((one) => of(one)[0]?.data);
      if (text !== (text.startsWith("[") ? `[${first.join()}]` : first.join()))
        yield `${what}: created ${first.join()}`;
    }
    const key = headers["Idempotency-Key"];
    if (key !== undefined && status < 300 && responses.get(key) !== text)
      yield `${what}: the first response is ${responses.get(key)}.`;
    // The reference of a cancelled order may change.
    const isGone = type === "order" ? of(id).some((one) => one.type === "order.cancelled") : isDeleted(of(id));
    if (status === 204 && !isGone) yield `${what}: it is there.`;
    if (codeOf(text) === "idempotency_key_reused") yield `${what}: nobody else has this key.`;
  }
}

const isDeleted = (states: { type: string }[]) => states.at(-1)?.type.endsWith(".deleted") === true;
const kindOf = (response: string) =>
  response.includes('"petId"') ? "order" : response.includes('"categoryId"') ? "pet" : "category";
/** An item of a list may have its version too. */
const isIn = (data: string, list: string) => list.includes(data) || list.includes(`${data.slice(0, -1)},"version":`);

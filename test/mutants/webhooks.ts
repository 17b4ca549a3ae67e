import { type Mutant, workerd } from "./mutant.ts";

const endpoint = (bug: string, was: string, becomes: string, test: string) =>
  workerd(bug, "webhooks/engine/endpoint.ts", was, becomes, `webhooks/${test}`);

/** Bugs of the delivery of events. */
export const WEBHOOKS: Mutant[] = [
  workerd(
    "denied hosts that are not understood let every host pass",
    "webhooks/denied-hosts.ts",
    "names === undefined || names",
    "names !== undefined && names",
    "webhooks/url",
  ),
  endpoint(
    "an endpoint that fails is attempted all the time",
    "if (isProbe && (running.size > 0 || now < progress.probeAt)) return undefined;",
    "",
    "schedule",
  ),
  endpoint(
    "a new event is attempted although the endpoint fails",
    "isHeld ||= isFailing(progress) || ",
    "isHeld ||= ",
    "schedule",
  ),
  endpoint(
    "a delivery has the id of its event without the tag as its key",
    "const { place: key, type, resource, body } = wave[index] as NewEvent;",
    "const { place, type, resource, body } = wave[index] as NewEvent;\n        const key = place.slice(0, 16);",
    "delivery",
  ),
  endpoint(
    "a failure leaves the alarm as an exception",
    "name, message, stack }));",
    "name, message, stack }));\n      throw error;",
    "restore",
  ),
  endpoint(
    "the place is stored before the deliveries",
    "const results = await this.#deliverNew(progress, run, wave);",
    "this.#record(progress, run, [], rest[count - 1]?.place);\n      const results = await this.#deliverNew(progress, run, wave);",
    "delivery",
  ),
  endpoint(
    "a new event does not wait for an earlier one of its resource",
    "if (!isHeld && !queue.blocks(resource)) {",
    "if (!isHeld) {",
    "delivery",
  ),
  endpoint(
    "two events of a resource are sent at once",
    "if (!isHeld && running.has(resource)) return undefined;",
    "",
    "delivery",
  ),
  endpoint("five attempts run at once", "MAX_AT_ONCE = 4", "MAX_AT_ONCE = 5", "delivery"),
  endpoint("a lost place is told again and again", "progress.highest = end.place;", "", "restore"),
  endpoint("a lost place is never told", "this.#store.add(row, messageBody(id, RESET, data));", "", "restore"),
  endpoint(
    "other deliveries go before a reset",
    "|| goesFirst(progress, run.queue) !== undefined) return false;",
    ") return false;",
    "restore",
  ),
  endpoint(
    "a lost nudge is never made good",
    "const pause = run.hasRead ?",
    "if (!run.hasRead && run.queue.rows.size === 0) return undefined;\n    const pause = run.hasRead ?",
    "delivery",
  ),
  endpoint(
    "a webhook that is disabled still sends",
    "if (!this.#sees(progress, row)) return undefined;",
    "this.#sees(progress, row);",
    "restore",
  ),
  endpoint(
    "the types are ignored",
    "if (run.types.has(event.type)) wave.push(event);",
    "wave.push(event);",
    "delivery",
  ),
  endpoint(
    "a rotation drops the old secret at once",
    "this.#store.saveSecrets({ newest, previous: {",
    "this.#store.saveSecrets({ newest });\n    void ({ newest, previous: {",
    "restore",
  ),
  endpoint("a replay during a wave is forgotten", "    progress.generation++;\n", "", "restore"),
  endpoint(
    "a replay keeps what waits, and reads it again",
    'this.#store.removeAfter(isLatest ? "" : place);',
    "",
    "restore",
  ),
  endpoint(
    "a nudge runs the engine beside its alarm",
    "await this.#wake(this.#readAt + SHORTEST_PAUSE);",
    "await this.alarm();",
    "delivery",
  ),
  endpoint(
    "the log does not say that a delivery failed",
    'if (result.status === "failed") log("a delivery failed", progress, result);',
    "",
    "schedule",
  ),
  endpoint(
    "a run signs with the secrets that it began with",
    "deliver(run.url, { id: eventId(key), body: one.body }, this.#signing(), this.env)",
    "deliver(run.url, { id: eventId(key), body: one.body }, (run.secrets ??= this.#signing()), this.env)",
    "restore",
  ),
  workerd(
    "the schedule ends early",
    "webhooks/engine/schedule.ts",
    "MAX_ATTEMPTS = DELAYS.length",
    "MAX_ATTEMPTS = 3",
    "webhooks/schedule",
  ),
  workerd(
    "the signature is that of another body",
    "webhooks/engine/delivery.ts",
    "sign(secrets, id, timestamp, body)",
    "sign(secrets, id, timestamp, `${body}\n`)",
    "webhooks/delivery",
  ),
  workerd(
    "the stored response of a creation has a secret",
    "webhooks/webhook.ts",
    "createdBy: webhooks.createdBy,",
    "createdBy: sql`'whsec_' || ${webhooks.tag}`,",
    "webhooks/operations",
  ),
  workerd(
    "a response does not wait for the object of its webhook",
    "webhooks/nudge.ts",
    "await Promise.race([told, waited]);",
    "",
    "webhooks/operations",
  ),
  workerd(
    "nobody tells the object of a new webhook",
    "webhooks/create-webhook.ts",
    "await announce(c, nameOf(created.id, tag));",
    "void nameOf(created.id, tag);",
    "webhooks/operations",
  ),
  workerd(
    "a webhook may have no attempts at once",
    "webhooks/webhook.ts",
    "integerField(1, MAX_CONCURRENCY)",
    "integerField(0, MAX_CONCURRENCY)",
    "webhooks/operations",
  ),
  workerd(
    "a receiver may have the name of a container",
    "webhooks/url.ts",
    '"svc", "cluster", "docker"',
    '"cluster"',
    "webhooks/url",
  ),
];

import { createRequire } from "node:module";
import type * as StandardWebhooks from "standardwebhooks";
import type * as Svix from "svix";
import { describe, expect, test } from "vitest";
import { verifyWebhook } from "../../client/src/index.ts";
import { newSecret, sign } from "../../src/webhooks/engine/signing.ts";
// oxlint-disable-next-line import/no-unassigned-import -- adds what Node.js lacks
import "../world/workerd.ts";

// The libraries of others accept what the service signs, and nothing else.

const require = createRequire(import.meta.url);
const LIBRARIES = {
  standardwebhooks: (require("standardwebhooks") as typeof StandardWebhooks).Webhook,
  svix: (require("svix") as typeof Svix).Webhook,
};
const BODY = '{"id":"evt_00000000000000025d41402a","type":"pet.created","version":1,"data":{"id":1,"name":"Zoë 🐕"}}';

async function delivery(secrets: string[]) {
  const seconds = Math.floor(Date.now() / 1_000);
  const id = "evt_00000000000000025d41402a";
  return {
    "webhook-id": id,
    "webhook-timestamp": String(seconds),
    "webhook-signature": await sign(secrets, id, seconds, BODY),
  };
}

describe.each(Object.entries(LIBRARIES))("%s", (_name, Webhook) => {
  // Promise: signatures
  test("verifies a delivery, also during a rotation", async () => {
    const [older, newer] = [newSecret(), newSecret()];
    for (const secret of [older, newer])
      expect(new Webhook(secret).verify(BODY, await delivery([newer, older]))).toEqual(JSON.parse(BODY));
    const headers = await delivery([newer]);
    expect(() => new Webhook(older).verify(BODY, headers)).toThrow(/signature/i);
    expect(() => new Webhook(newer).verify(`${BODY} `, headers)).toThrow(/signature/i);
  });

  test("signs what the client verifies", async () => {
    const [secret, at] = [newSecret(), new Date()];
    const headers = {
      "webhook-id": "msg_1",
      "webhook-timestamp": String(Math.floor(at.getTime() / 1_000)),
      "webhook-signature": new Webhook(secret).sign("msg_1", at, BODY),
    };
    expect(await verifyWebhook(BODY, headers, secret)).toMatchObject({ type: "pet.created", data: { id: 1n } });
  });
});

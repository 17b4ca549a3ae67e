import { patch, post, REMOVE, rows } from "./cost.ts";
import { create, type Service } from "./once.ts";
import type { Rows } from "./row.ts";

const WEBHOOKS = "/v1/webhooks";
const HOOK = { url: "https://hooks.shop.com/", types: ["category.deleted"] };
// No one listens there, and no test changes such an event.
const SILENT = { url: "http://127.0.0.1:1/hook", types: ["category.deleted"] };
const removeAll = ({ run }: Service) => run("DELETE FROM webhooks");

const MANAGED = { scope: "webhooks:manage", world: "deliveries", tool: "hidden" } as const;

export const webhooks = {
  listWebhooks: {
    ...MANAGED,
    tool: ["read", {}],
    sample: async (store) => {
      for await (const webhook of store.webhooks.list()) {
        console.log(webhook.id, webhook.url);
      }
    },
    costs: { "a list of webhooks": [rows(1), 200, WEBHOOKS] },
  },
  createWebhook: {
    ...MANAGED,
    sample: async (store) => {
      const { webhook } = await store.webhooks.create({
        url: "https://hooks.example.com/pets",
        types: ["pet.created", "pet.updated"],
      });
      console.log(webhook.id, await store.webhooks.secret(webhook.id));
    },
    costs: { "a creation of a webhook": [rows(8, 2), 201, WEBHOOKS, post(HOOK)] },
    invalid: {},
    once: [
      {
        async prepare(service) {
          await removeAll(service);
          return {
            path: WEBHOOKS,
            body: SILENT,
            same: { id: 5, types: ["category.deleted"], url: SILENT.url },
            others: [
              { ...SILENT, types: ["pet.deleted"] },
              { ...SILENT, url: "http://127.0.0.1:2/" },
              { ...SILENT, concurrency: 6 },
            ],
          };
        },
        events: 0,
        disturb: () => ({ types: ["pet.deleted"] }),
        async conflict(service) {
          let last = "";
          for (let count = 0; count < 10; count++) last = await create(service, WEBHOOKS, SILENT);
          return ["webhook_limit", last];
        },
      },
    ],
  },
  getWebhook: {
    ...MANAGED,
    sample: async (store) => {
      const { webhook } = await store.webhooks.get(1n);
      console.log(webhook.url, webhook.enabled);
    },
    costs: { "a webhook": [rows(1), 200, `${WEBHOOKS}/1`] },
  },
  updateWebhook: {
    ...MANAGED,
    sample: async (store) => {
      const { webhook } = await store.webhooks.update(1n, {
        enabled: true,
      });
      console.log(webhook.enabled);
    },
    costs: {
      "a change of a webhook": [rows(27, 1), 200, `${WEBHOOKS}/1`, patch({ url: "https://hooks.shop.com/pets" })],
    },
    invalid: { enabled: "yes" },
    once: [
      {
        async prepare(service) {
          await removeAll(service);
          return {
            path: await create(service, WEBHOOKS, SILENT),
            body: { types: ["pet.deleted"], concurrency: 2 },
            same: { x: 1, concurrency: 2.0, types: ["pet.deleted"] },
            others: [{ types: ["pet.deleted"] }, { enabled: false }, {}],
          };
        },
        nothing: { enabled: true },
        events: 0,
        disturb: () => ({ types: ["pet.created"] }),
      },
    ],
  },
  getWebhookState: {
    ...MANAGED,
    tool: ["read", { webhookId: "1" }],
    sample: async (store) => {
      const { health, pending } = await store.webhooks.state(1n);
      console.log(health, pending);
    },
    costs: { "the state of a webhook": [rows(1), 200, `${WEBHOOKS}/1/state`] },
  },
  getWebhookSecret: {
    ...MANAGED,
    sample: async (store) => {
      const secret = await store.webhooks.secret(1n);
      console.log(secret.length);
    },
    costs: { "the secret of a webhook": [rows(1), 200, `${WEBHOOKS}/1/secret`] },
  },
  rotateWebhookSecret: {
    ...MANAGED,
    sample: async (store) => {
      const secret = await store.webhooks.rotateSecret(1n);
      console.log(secret.length);
    },
    costs: { "a new secret of a webhook": [rows(1), 200, `${WEBHOOKS}/1/rotate-secret`, { method: "POST" }] },
  },
  testWebhook: {
    ...MANAGED,
    sample: async (store) => {
      const { response, error } = await store.webhooks.test(1n);
      console.log(response, error);
    },
    costs: { "a test of a webhook": [rows(1), 200, `${WEBHOOKS}/1/test`, { method: "POST" }] },
  },
  replayWebhook: {
    ...MANAGED,
    sample: async (store) => {
      const { cursor } = await store.events.list({ limit: 1 });
      const { replay } = await store.webhooks.replay(1n, cursor);
      console.log(replay?.end);
    },
    costs: { "a replay": [rows(2), 200, `${WEBHOOKS}/1/replay`, post({ cursor: "latest" })] },
    invalid: {},
  },
  stopReplay: {
    ...MANAGED,
    sample: async (store) => {
      await store.webhooks.stopReplay(1n);
    },
    costs: { "the end of a replay": [rows(1), 204, `${WEBHOOKS}/1/replay`, REMOVE] },
  },
  listDeliveries: {
    ...MANAGED,
    tool: ["read", { webhookId: "1" }],
    sample: async (store) => {
      const { deliveries } = await store.webhooks.deliveries(1n);
      for (const { event, status } of deliveries) console.log(event, status);
    },
    costs: { "the deliveries of a webhook": [rows(1), 200, `${WEBHOOKS}/1/deliveries`] },
  },
  deleteWebhook: {
    ...MANAGED,
    sample: async (store) => {
      await store.webhooks.delete(2n);
    },
    costs: { "a deletion of a webhook": [rows(3, 1), 204, `${WEBHOOKS}/1`, REMOVE] },
  },
} satisfies Rows;

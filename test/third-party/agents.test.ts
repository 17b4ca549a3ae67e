import { createRequire } from "node:module";
import type * as Modern from "@modelcontextprotocol/client";
import type * as OlderClient from "@modelcontextprotocol/sdk/client/index.js";
import type * as OlderTransport from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { describe, expect, test } from "vitest";
import { useBuiltService } from "../built/service.ts";

// The official clients of the Model Context Protocol use /mcp.

const require = createRequire(import.meta.url);
const modern = require("@modelcontextprotocol/client") as typeof Modern;
const { Client } = require("@modelcontextprotocol/sdk/client/index.js") as typeof OlderClient;
const { StreamableHTTPClientTransport } =
  require("@modelcontextprotocol/sdk/client/streamableHttp.js") as typeof OlderTransport;

const INFO = { name: "test", version: "1.0.0" };

const service = useBuiltService();

interface Result {
  content?: unknown;
  structuredContent?: unknown;
  isError?: unknown;
}

/** What the test uses of each client. */
interface Agent {
  listTools: () => Promise<{ tools: { name: string }[] }>;
  callTool: (call: { name: string; arguments: Record<string, unknown> }) => Promise<Result>;
  getServerVersion: () => unknown;
  getInstructions: () => string | undefined;
  close: () => Promise<void>;
}

interface Connection {
  key: string;
  /** Sends its requests. */
  fetch?: typeof fetch;
}

const options = ({ key, ...rest }: Connection) => ({
  requestInit: { headers: { Authorization: `Bearer ${key}` } },
  ...rest,
});
const address = () => new URL("/mcp", service.url);

const older = async (connection: Connection): Promise<Agent> => {
  const client = new Client(INFO);
  await client.connect(new StreamableHTTPClientTransport(address(), options(connection)));
  return client as Agent;
};
const newer =
  (versionNegotiation?: Modern.ClientOptions["versionNegotiation"]) =>
  async (connection: Connection): Promise<Agent> => {
    const client = new modern.Client(INFO, versionNegotiation === undefined ? {} : { versionNegotiation });
    await client.connect(new modern.StreamableHTTPClientTransport(address(), options(connection)));
    return client;
  };

const CLIENTS: [name: string, connect: (connection: Connection) => Promise<Agent>, revision: string][] = [
  ["sdk 1.32", older, "2025-11-25"],
  ["client 2.4", newer(), "2025-11-25"],
  ["client 2.4, which detects the revision", newer({ mode: "auto" }), "2026-07-28"],
  ["client 2.4, pinned to 2026-07-28", newer({ mode: { pin: "2026-07-28" } }), "2026-07-28"],
];

const textOf = ({ content }: Result) => JSON.parse((content as { text: string }[])[0]?.text ?? "") as object;

describe.each(CLIENTS)("%s", (_name, connect, revision) => {
  test("lists, calls, and gets a failure as one", async () => {
    const versions = new Set<string | null>();
    const client = await connect({
      key: service.key,
      fetch: (url, init) => {
        versions.add(new Headers(init?.headers).get("MCP-Protocol-Version"));
        return fetch(url, init);
      },
    });
    expect(client.getServerVersion()).toMatchObject({ name: "petstore" });
    expect(client.getInstructions()).toContain("pet store");
    const { tools } = await client.listTools();
    expect(tools).toHaveLength(20);
    const items = [{ name: "Gil the Goldfish", categoryId: "9223372036854775807" }];
    const created = await client.callTool({
      name: "createPets",
      arguments: { items, idempotencyKey: crypto.randomUUID() },
    });
    expect(created.structuredContent).toEqual({ items: [expect.objectContaining(items[0] ?? {})] });
    expect(textOf(created)).toEqual(created.structuredContent);
    const failed = await client.callTool({ name: "getOrder", arguments: { orderId: "0" } });
    expect(failed.isError).toBe(true);
    expect(textOf(failed)).toEqual({ code: "not_found", message: "There is no order with this id.", status: 404 });
    await expect(client.callTool({ name: "getWebhookSecret", arguments: {} })).rejects.toThrow(/no such tool/i);
    await client.close();
    expect(versions).toContain(revision);
    expect([...versions].filter((version) => ![revision, null].includes(version))).toEqual([]);
  });

  test("adds an animal once, when the answer is lost and the call is repeated", async () => {
    let isLost = false;
    const client = await connect({
      key: service.key,
      async fetch(url, init) {
        const response = await fetch(url, init);
        if (!isLost || init?.method !== "POST") return response;
        isLost = false;
        await response.text();
        throw new TypeError("fetch failed");
      },
    });
    const name = `Once ${crypto.randomUUID().replaceAll("-", "")}`;
    const call = {
      name: "createPets",
      arguments: { items: [{ name, categoryId: "1" }], idempotencyKey: crypto.randomUUID() },
    };
    isLost = true;
    await expect(client.callTool(call)).rejects.toThrow(/fetch failed/);
    const { structuredContent } = await client.callTool(call);
    expect(structuredContent).toEqual({ items: [expect.objectContaining({ name })], replayed: true });
    const found = await client.callTool({ name: "listPets", arguments: { q: name.slice(0, 30) } });
    expect(found.structuredContent).toEqual({ items: [expect.objectContaining({ name })] });
    await client.close();
  });

  test("refuses a key that is not valid", async () => {
    await expect(connect({ key: `${service.key.slice(0, -1)}!` })).rejects.toThrow(/401|unauthorized/i);
  });
});

import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { copyFileSync } from "node:fs";
import { join } from "node:path";
import getPort from "get-port";
import { expect, onTestFinished } from "vitest";
import { startWrangler } from "../../scripts/wrangler.ts";
import { link, newProject } from "./project.ts";

// Starts the shop fronts in examples/ as processes: one in workerd under `wrangler dev`, one in Node.js with the packed client.

/** Starts a shop on a port, with the address of the API and the API key in its environment. */
export type Start = (port: number, env: NodeJS.ProcessEnv) => ChildProcess;

export const inWorkerd: Start = (port, env) => {
  const ports = ["--port", String(port), "--inspector-port", "0"];
  return startWrangler(["dev", "--config", "examples/shop-worker/wrangler.toml", ...ports], { env });
};

/**
 * @param node the path of a Node.js executable.
 * @param program in examples/.
 */
export const inNode =
  (node: string, program = "shop-node/shop.mjs"): Start =>
  (port, env) => {
    const project = newProject(onTestFinished);
    link(project, "hono");
    copyFileSync(`examples/${program}`, join(project, "shop.mjs"));
    return spawn(node, [join(project, "shop.mjs")], { env: { ...env, PORT: String(port) } });
  };

export interface ShopFront {
  origin: string;
  /** The output of the shop. */
  log: string[];
}

/** Starts a shop that reaches the API at an address, until the test ends. It may not be ready yet. */
export async function startShop(start: Start, api: URL, key: string): Promise<ShopFront> {
  const port = await getPort();
  const child = start(port, { ...process.env, BASE: new URL("/v1", api).href, KEY: key });
  const log: string[] = [];
  for (const output of [child.stdout, child.stderr]) output?.on("data", (text: Buffer) => log.push(String(text)));
  onTestFinished(async () => {
    console.log(log.join(""));
    if (child.exitCode === null && child.kill()) await once(child, "exit");
  });
  return { origin: `http://127.0.0.1:${port}`, log };
}

/** Starts a shop, and waits until it responds. */
export async function openShop(start: Start, api: URL, key: string): Promise<ShopFront> {
  const shop = await startShop(start, api, key);
  const responds = () => fetch(`${shop.origin}/nothing`).then(({ status }) => status, String);
  await expect.poll(responds, { timeout: 100_000 }).toBeTypeOf("number");
  return shop;
}

import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type Candidate, COMPATIBILITY_DATE } from "./candidates.ts";
import { type D1Answer, Instance } from "./instance.ts";
import { connections, CREATE_ONCE, expected, KEY_NAME, KEY_RECORD, REQUESTS, send } from "./requests.ts";

/** A candidate that `Server` can run. */
export interface Prepared extends Candidate {
  /** Path of the configuration for `workerd serve`. */
  config: string;
}

/** Runs each candidate once with a real D1, and writes the files for workerd to run it with a stub that answers the same. */
export async function prepare(candidates: Candidate[], folder: string): Promise<Prepared[]> {
  return Promise.all(
    candidates.map(async (candidate) => ({
      ...candidate,
      config: writeConfig(candidate, await collectAnswers(candidate), folder),
    })),
  );
}

const ANIMALS = 1_000;

/** What the real D1 answers to the statements of a candidate. */
async function collectAnswers(candidate: Candidate): Promise<D1Answer[]> {
  await using instance = await Instance.start(candidate, ANIMALS, { delay: 0 });
  using running = new DisposableStack();
  const agent = running.adopt(connections(1), (open) => open.destroy());
  for (const request of expected(candidate, [...REQUESTS, CREATE_ONCE])) await send(agent, instance.port, request);
  return await instance.d1Answers();
}

function writeConfig({ name, script }: Candidate, d1: D1Answer[], folder: string): string {
  const directory = join(folder, name.replaceAll(/\W+/g, "-"));
  mkdirSync(directory);
  writeFileSync(join(directory, "worker.js"), script);
  writeFileSync(join(directory, "stub.js"), readFileSync(join(import.meta.dirname, "stub.js"), "utf8"));
  writeFileSync(join(directory, "storage.json"), JSON.stringify({ keyName: KEY_NAME, keyRecord: KEY_RECORD, d1 }));
  const config = join(directory, "config.capnp");
  writeFileSync(
    config,
    `using Workerd = import "/workerd/workerd.capnp";
const config :Workerd.Config = (
  services = [(name = "main", worker = .main)],
  sockets = [(name = "http", address = "127.0.0.1:0", http = (), service = "main")]
);
const main :Workerd.Worker = (
  modules = [
    (name = "stub.js", esModule = embed "stub.js"),
    (name = "worker.js", esModule = embed "worker.js"),
    (name = "storage.json", json = embed "storage.json")
  ],
  compatibilityDate = "${COMPATIBILITY_DATE}"
);
`,
  );
  return config;
}

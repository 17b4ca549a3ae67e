import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type Candidate, COMPATIBILITY_DATE } from "./candidates.ts";
import { startInstance } from "./instance.ts";
import { KEY_NAME, KEY_RECORD, LIST, requestsOf, send } from "./requests.ts";

/** A candidate that `Server` can run. */
export interface Prepared extends Candidate {
  /** Path of the configuration for `workerd serve`. */
  config: string;
}

/** Asks each candidate once beside a real D1, and writes the files for workerd to run it with bindings that answer the same. */
export function prepare(candidates: Candidate[], folder: string): Promise<Prepared[]> {
  return Promise.all(
    candidates.map(async (candidate) => {
      const directory = join(folder, candidate.name.replaceAll(/\W+/g, "-"));
      mkdirSync(directory);
      const config = join(directory, "config.capnp");
      const files = { "worker.js": candidate.script, "bindings.js": BINDINGS, "config.capnp": CONFIG };
      for (const [name, text] of Object.entries(files)) writeFileSync(join(directory, name), text);
      writeFileSync(join(directory, "storage.json"), storage(await answersOf(candidate)));
      return { ...candidate, config };
    }),
  );
}

/** What the real D1 answers to the statements of a candidate. */
async function answersOf(candidate: Candidate): Promise<unknown> {
  await using instance = await startInstance(candidate, 1_000, [
    { type: "ESModule", path: "bindings.js", contents: BINDINGS },
    { type: "Text", path: "storage.json", contents: storage([]) },
  ]);
  for (const request of requestsOf(candidate)) await send(instance.port, request);
  return JSON.parse((await send(instance.port, { ...LIST, path: "/answers" })).body);
}

const storage = (answers: unknown) => JSON.stringify({ keyName: KEY_NAME, keyRecord: KEY_RECORD, answers });

const BINDINGS = readFileSync(join(import.meta.dirname, "bindings.js"), "utf8");
const CONFIG = `using Workerd = import "/workerd/workerd.capnp";
const config :Workerd.Config = (
  services = [(name = "main", worker = .main)],
  sockets = [(name = "http", address = "127.0.0.1:0", http = (), service = "main")]
);
const main :Workerd.Worker = (
  modules = [
    (name = "bindings.js", esModule = embed "bindings.js"),
    (name = "worker.js", esModule = embed "worker.js"),
    (name = "storage.json", text = embed "storage.json")
  ],
  compatibilityDate = "${COMPATIBILITY_DATE}"
);
`;

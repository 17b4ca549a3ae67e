import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { COMPATIBILITY_DATE, type Module, RECORD } from "../scripts/bundles.ts";
import { keyRecordName } from "../src/auth/key-record.ts";
import { BARE, type Candidate, FLOOR } from "./candidates.ts";
import { startInstance } from "./instance.ts";
import { type Answer, FROM_BROWSER, KEY, LIST, REQUESTS, requestsOf, send } from "./requests.ts";

export interface Prepared extends Candidate {
  /** Path of the configuration for `workerd serve`. */
  config: string;
  /** By the name of the request. */
  answers: Map<string, Answer>;
}

/**
 * Sends the requests to each candidate with a real D1, and writes the files for workerd to run it with bindings that replay the
 * results.
 */
export function prepare(candidates: Candidate[], folder: string): Promise<Prepared[]> {
  return Promise.all(candidates.map((candidate) => prepareOne(candidate, join(folder, candidate.name))));
}

async function prepareOne(candidate: Candidate, directory: string): Promise<Prepared> {
  await using instance = await startInstance(candidate, 1_000, await recorder());
  const answers = new Map<string, Answer>();
  for (const request of [...requestsOf(candidate), FROM_BROWSER]) {
    answers.set(request.name, await send(instance.port, request));
  }
  const ofD1 = await send(instance.port, { ...LIST, path: "/answers" });

  mkdirSync(directory);
  const config = join(directory, "config.capnp");
  writeFileSync(config, CONFIG);
  writeFileSync(join(directory, "worker.js"), candidate.script);
  for (const { path, contents } of await recorder(JSON.parse(ofD1.body)))
    writeFileSync(join(directory, path), contents);
  return { ...candidate, config, answers };
}

/**
 * Compares the responses of the candidates with those of the first, because costs are comparable only for equal work. The floor has to
 * have the same headers too. The bare Worker may have other failures. The differences of an earlier version are printed.
 *
 * @throws Error when a baseline has another response.
 */
export function checkAnswers([ours, ...others]: Prepared[]): void {
  for (const { name: candidate, answers } of others) {
    const text = (answer?: Answer) =>
      (candidate === FLOOR ? `${[...(answer?.headers.keys() ?? [])].join()} ` : "") + answer?.body;
    for (const { name, status } of [...REQUESTS, FROM_BROWSER]) {
      const [theirs, expected] = [text(answers.get(name)), text(ours?.answers.get(name))];
      if (theirs === expected || (status >= 400 && candidate !== FLOOR)) continue;
      const difference = `${name}: ${candidate} answers ${theirs.slice(0, 600)} instead of ${expected.slice(0, 600)}`;
      if ([FLOOR, BARE].includes(candidate)) throw new Error(difference);
      console.log(difference);
    }
  }
}

/** The modules in front of a Worker that record what D1 returns to it, for `/answers`. Without a D1, they replay these answers. */
export async function recorder(answers: unknown[] = []): Promise<Module[]> {
  const storage = JSON.stringify({ keyName: await keyRecordName(KEY), keyRecord: RECORD, answers });
  return [
    { type: "ESModule", path: "bindings.js", contents: readFileSync(join(import.meta.dirname, "bindings.js"), "utf8") },
    { type: "Text", path: "storage.json", contents: storage },
  ];
}

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

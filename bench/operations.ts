import { generateKey } from "../src/auth/key-format.ts";
import { keyRecordName } from "../src/auth/key-record.ts";
import type { Candidate } from "./candidates.ts";
import { Instance } from "./instance.ts";
import {
  type BenchRequest,
  connections,
  CREATE,
  CREATE_ONCE,
  GET,
  INVALID,
  LIST,
  LIST_100,
  send,
  UNAUTHORIZED,
} from "./requests.ts";
import { spread } from "./spread.ts";

const DELAY = 50;
const TRIP_SAMPLES = 9;
const NEVER_SEEN: BenchRequest = { ...LIST, name: "list, key not seen in 30 s" };
const ALL_OPERATIONS: BenchRequest[] = [
  LIST,
  LIST_100,
  { ...LIST, name: "list by status", path: "/v1/pets?status=available" },
  CREATE,
  CREATE_ONCE,
  { ...CREATE_ONCE, name: "create, repeated" },
  GET,
  { ...GET, name: "get, no int64", path: "/v1/pets/rex", status: 404 },
  INVALID,
  { ...UNAUTHORIZED, name: "401, not a key", key: "rex" },
  { ...UNAUTHORIZED, name: "401, unknown key" },
  NEVER_SEEN,
];

export interface OperationCost {
  name: string;
  /** Latency over that of one delayed round trip. */
  roundTrips: number;
  rowsRead: number;
  rowsWritten: number;
}

/** Round trips to storage, by the latency when each of them takes 50 ms more, and rows, by the service's own log. */
export async function measureOperations(candidate: Candidate): Promise<OperationCost[]> {
  await using near = await Instance.start(candidate, 1_000);
  await using far = await Instance.start(candidate, 1_000, { delay: DELAY });
  using running = new DisposableStack();
  const agent = running.adopt(connections(1), (open) => open.destroy());
  const costs = [];
  for (const operation of ALL_OPERATIONS) {
    const times: { near: number[]; far: number[] } = { near: [], far: [] };
    for (let sample = 0; sample < TRIP_SAMPLES; sample++) {
      const request = await variant(operation, sample, [near, far]);
      times.near.push(await send(agent, near.port, request));
      times.far.push(await send(agent, far.port, request));
    }
    const { read, written } = await near.rowsOf(await variant(operation, TRIP_SAMPLES, [near, far]));
    const trips = (spread(times.far).median - spread(times.near).median) / DELAY;
    costs.push({ name: operation.name, roundTrips: trips, rowsRead: read, rowsWritten: written });
  }
  return costs;
}

/** The same operation for the first time, where that is what makes it what it is. */
async function variant(operation: BenchRequest, sample: number, instances: Instance[]): Promise<BenchRequest> {
  if (operation === CREATE_ONCE) {
    return { ...operation, headers: { ...operation.headers, "Idempotency-Key": `first-${sample}` } };
  }
  if (operation !== NEVER_SEEN) return operation;
  const key = generateKey("production");
  const name = await keyRecordName(key);
  for (const instance of instances) await instance.grant(name);
  return { ...operation, key };
}

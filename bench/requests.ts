import { createHash } from "node:crypto";
import { Agent, request as httpRequest } from "node:http";
import { generateKey } from "../src/auth/key-format.ts";
import { type Candidate, EMPTY } from "./candidates.ts";

/** The key that every candidate's storage knows. */
export const KEY = generateKey("production");
/** The name under which KV holds its record, and the record. */
export const KEY_NAME = `key:${createHash("sha256").update(KEY).digest("hex")}`;
export const KEY_RECORD = JSON.stringify({
  id: "key_000000000000",
  name: "bench",
  scopes: ["pets:read", "pets:write", "store:read"],
  createdAt: "2026-01-01T00:00:00.000Z",
});

export interface BenchRequest {
  name: string;
  method: "GET" | "POST";
  path: string;
  /** The one key that storage knows, unless told otherwise. */
  key?: string;
  headers?: Record<string, string>;
  body?: string;
  /** Of the answer; another one is an error. */
  status: number;
}

export const LIST: BenchRequest = { name: "list 20", method: "GET", path: "/v1/pets", status: 200 };
export const LIST_100: BenchRequest = { ...LIST, name: "list 100", path: "/v1/pets?limit=100" };
export const CREATE: BenchRequest = {
  name: "create",
  method: "POST",
  path: "/v1/pets",
  headers: { "Content-Type": "application/json" },
  body: '{"name":"Rex","categoryId":7,"status":"pending"}',
  status: 201,
};
export const CREATE_ONCE: BenchRequest = {
  ...CREATE,
  name: "create with Idempotency-Key",
  headers: { ...CREATE.headers, "Idempotency-Key": "one" },
};
export const GET: BenchRequest = { name: "get", method: "GET", path: "/v1/pets/1", status: 200 };
/** A key of the right form, which nobody was given. */
export const UNAUTHORIZED: BenchRequest = { ...LIST, name: "401", key: generateKey("production"), status: 401 };
export const INVALID: BenchRequest = { ...LIST, name: "400", path: "/v1/pets?limit=0", status: 400 };

/** Whose CPU is measured. */
export const REQUESTS = [LIST, LIST_100, CREATE, GET, UNAUTHORIZED, INVALID];

/** The requests with the statuses that this candidate answers. The empty Worker refuses nothing. */
export function expected({ name }: Candidate, requests: BenchRequest[]): BenchRequest[] {
  if (name !== EMPTY) return requests;
  return requests.map((request) => (request.status < 400 ? request : { ...request, status: 200 }));
}

/** All headers of a request, its key among them. */
export function headersOf({ key = KEY, headers }: BenchRequest): Record<string, string> {
  return { Authorization: `Bearer ${key}`, ...headers };
}

/** An agent that keeps up to this many connections open. */
export function connections(count: number): Agent {
  return new Agent({ keepAlive: true, maxSockets: count });
}

/** Sends one request to 127.0.0.1, and returns the milliseconds until the end of the answer. */
export function send(agent: Agent, port: number, request: BenchRequest): Promise<number> {
  const { name, method, path, body, status } = request;
  return new Promise((resolve, reject) => {
    const start = performance.now();
    const options = { agent, port, host: "127.0.0.1", method, path };
    const outgoing = httpRequest({ ...options, headers: headersOf(request) }, (response) => {
      response.resume().on("end", () => {
        if (response.statusCode === status) resolve(performance.now() - start);
        else reject(new Error(`${name}: ${response.statusCode} instead of ${status}`));
      });
    });
    outgoing.on("error", reject);
    outgoing.end(body);
  });
}

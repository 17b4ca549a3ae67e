import { crc32 } from "node:zlib";
import { generateKey } from "../src/auth/key-format.ts";
import { BARE, type Candidate, FLOOR } from "./candidates.ts";

export const KEY = generateKey("production");
export const AUTHORIZATION = `Bearer ${KEY}`;

export interface BenchRequest {
  name: string;
  method: "GET" | "POST" | "PATCH" | "DELETE";
  path: string;
  /** More paths, in turn, for a request that differs each time. */
  paths?: string[];
  headers: Record<string, string>;
  body?: string;
  /** The status of the response. Another one is an error. */
  status: number;
}

export const LIST: BenchRequest = {
  name: "list 20",
  method: "GET",
  path: "/v1/pets",
  headers: { Authorization: AUTHORIZATION },
  status: 200,
};
const CREATE: BenchRequest = {
  ...LIST,
  name: "create",
  method: "POST",
  headers: { ...LIST.headers, "Content-Type": "application/json" },
  body: '{"name":"Rex","categoryId":7,"status":"pending"}',
  status: 201,
};

export const REQUESTS: BenchRequest[] = [
  LIST,
  { ...LIST, name: "list 100", path: "/v1/pets?limit=100" },
  { ...LIST, name: "list available", path: "/v1/pets?limit=20&status=available" },
  CREATE,
  { ...LIST, name: "get", path: "/v1/pets/1" },
  // An unknown key of the right form.
  { ...LIST, name: "unknown key", headers: { Authorization: `Bearer ${generateKey("production")}` }, status: 401 },
  { ...LIST, name: "invalid limit", path: "/v1/pets?limit=0", status: 400 },
];

const PATCH: BenchRequest = {
  ...CREATE,
  name: "patch",
  method: "PATCH",
  path: "/v1/pets/901",
  body: '{"status":"pending"}',
  status: 200,
};
const BATCH: BenchRequest = {
  ...CREATE,
  name: "batch of 10",
  path: "/v1/pets/batch",
  body: `[${Array(10).fill(CREATE.body).join()}]`,
};
const ORDERS = "/v1/store/orders";
/** More queries than the service remembers. Node.js cannot run the service's own `encodeCursor`. */
const WALK = Array.from({ length: 1_000 }, (_, page) => {
  const cursor = Buffer.alloc(12);
  cursor.writeBigInt64BE(BigInt(page * 20));
  cursor.writeUInt32BE(crc32(cursor.subarray(0, 8)), 8);
  return `/v1/pets?limit=20&status=available&cursor=${cursor.toString("base64url")}`;
});

/** The requests to the service alone. Those that change something name animals behind the lists. */
const REQUESTS_TO_SERVICE: BenchRequest[] = [
  { ...CREATE, name: "create once", headers: { ...CREATE.headers, "Idempotency-Key": "one" } },
  // After the first, the service answers without D1.
  { ...LIST, name: "list 20 from memory", headers: { ...LIST.headers, "Cache-Control": "max-age=60" } },
  { ...LIST, name: "walk", path: `/v1/pets?limit=20&status=available`, paths: WALK },
  BATCH,
  { ...BATCH, name: "batch of 10 once", headers: { ...CREATE.headers, "Idempotency-Key": "four" } },
  PATCH,
  { ...PATCH, name: "patch once", path: "/v1/pets/902", headers: { ...PATCH.headers, "Idempotency-Key": "two" } },
  { ...LIST, name: "delete", method: "DELETE", path: "/v1/pets/903", status: 204 },
  { ...CREATE, name: "place", path: ORDERS, body: '{"petId":904}' },
  { ...PATCH, name: "ship", path: `${ORDERS}/1`, body: '{"status":"shipped"}' },
];

/** Browsers on other sites get additional headers. */
export const FROM_BROWSER: BenchRequest = {
  ...LIST,
  name: "list 20 with Origin",
  headers: { ...LIST.headers, Origin: "https://example.com" },
};

export const requestsOf = ({ name }: Candidate): BenchRequest[] =>
  [FLOOR, BARE].includes(name) ? REQUESTS : [...REQUESTS, ...REQUESTS_TO_SERVICE];

/** Sends a request to 127.0.0.1. @throws Error when the response has another status. */
export async function send(port: number, { name, path, status, ...init }: BenchRequest): Promise<Answer> {
  const response = await fetch(`http://127.0.0.1:${port}${path}`, init);
  const body = await response.text();
  if (response.status !== status) throw new Error(`${name}: ${response.status} instead of ${status}: ${body}`);
  return { body, headers: response.headers };
}

export interface Answer {
  body: string;
  headers: Headers;
}

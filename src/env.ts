import type { Hono } from "hono";

/** Whose API key a request carries. */
export interface ApiKey {
  /** Names the key in logs and for operators; no secret. */
  id: string;
  scopes: readonly string[];
}

/** The facts of a request that its log line tells. None of them ever holds a key, a body, a raw path or a bound parameter. */
export interface RequestLog {
  /** Also the `X-Request-Id` header. */
  requestId: string;
  /** The id of the API key, never the key. */
  keyId?: string | undefined;
  errorCode?: string | undefined;
  /** Whether the caller sent a bookmark. */
  bookmark?: boolean | undefined;
  /** Whether the operation is deprecated. */
  deprecated?: boolean | undefined;
}

/** The work that D1 did for a request. */
export interface DatabaseUsage {
  /** Where the session stands: a later session that starts from it sees everything this one saw or wrote. */
  bookmark: string | undefined;
  /** Milliseconds that the SQL took inside the database. Undefined until D1 has responded. */
  duration: number | undefined;
  rowsRead: number;
  rowsWritten: number;
  /** The region of the instance that responded last. Undefined in local development. */
  region: string | undefined;
  /** Whether that instance was the primary. Undefined until D1 has responded. */
  primary: boolean | undefined;
}

/**
 * What a handler finds on its context. The bindings (`Env`) are generated from wrangler.toml into
 * worker-configuration.d.ts by `npm run generate:types`.
 */
export interface AppEnv {
  Bindings: Env;
  Variables: {
    /** The headers of the response. Handlers and middleware add to them; `json` sends them. */
    headers: Record<string, string>;
    /** The line that will be logged for this request; whoever learns something adds it. */
    log: RequestLog;
    /**
     * The response that `json` made, which has these headers already: one Response from one record costs a third less CPU than a header
     * at a time. Remembered here, because a mark on a Response keeps its native memory until a full collection of garbage.
     */
    finished: Response | undefined;
    /** Undefined until a key was found good. */
    apiKey: ApiKey | undefined;
    /** Undefined until a handler has opened a database session. */
    database: DatabaseUsage | undefined;
  };
}

export type App = Hono<AppEnv>;

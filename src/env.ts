import type { HonoBase } from "hono/hono-base";

/** A customer token, as the request that presents it needs it. */
export interface CustomerToken {
  id: string;
  customer: string;
  /** The number of placed orders that the customer may have. */
  maxPlaced: number;
  /** The SHA-256 of the key that created it, in hexadecimal. */
  keyHash: string;
}

/** The owner of the API key of a request. Its customer token has the scopes and the expiry that both have. */
export interface ApiKey {
  /** Names the key in logs and for operators. Not a secret. */
  id: string;
  name: string;
  scopes: readonly string[];
  expiresAt?: string | undefined;
  /** Undefined for a request with the key itself. */
  token?: CustomerToken | undefined;
}

/** The facts that a request reports in its log line. None of them holds a key, a body, a raw path or a bound parameter. */
export interface RequestLog {
  /** Also the `X-Request-Id` header. */
  requestId: string;
  /** The id of the API key, never the key. */
  keyId?: string | undefined;
  /** The id of the customer token. The log never names the customer. */
  tokenId?: string | undefined;
  errorCode?: string | undefined;
  /** Whether the caller sent a bookmark. */
  bookmark?: boolean | undefined;
  /** Whether the operation is deprecated. */
  deprecated?: boolean | undefined;
  /** Whether the content of the response came from the memory of the isolate. */
  cached?: boolean | undefined;
  /** Whether an agent sent it, through `/mcp`. */
  agent?: boolean | undefined;
}

/** The work that D1 did for a request. Nothing is there until D1 has responded. */
export interface DatabaseUsage {
  /** The state that the session has reached. A session that starts from it sees everything that this one saw or wrote. */
  bookmark?: string | undefined;
  /** Milliseconds that the SQL took inside the database. */
  duration?: number;
  rowsRead?: number;
  rowsWritten?: number;
  /** The region of the instance that responded last. Undefined in local development. */
  region?: string | undefined;
  /** Whether that instance was the primary. */
  primary?: boolean | undefined;
  /** Whether an instance lacked a table or a column, so that the primary was asked too. */
  repeated?: true;
  /** The names of the statements that were slow. */
  slow?: string[];
}

/**
 * The types of a handler's context. The bindings (`Env`) are generated from wrangler.toml into worker-configuration.d.ts by `npm
 * run generate:types`.
 */
export interface AppEnv {
  Bindings: Env & {
    /** A secret of the Worker, which signs the customer tokens. Without it, there are none. */
    TOKEN_SECRET?: string;
    /** Set for the request of a tool's call, which comes from `/mcp` of the same service. */
    readonly AGENT?: true;
  };
  Variables: {
    /** The headers of the response. Handlers and middleware add to them; `json` sends them. */
    headers: Record<string, string>;
    /** The facts for the log line of this request. Each part of the service adds its own. */
    log: RequestLog;
    /**
     * The response that `json` made, which already has these headers: they need not be set again.
     */
    finished: Response | undefined;
    /** Whether another request writes the line of the log: that of a tool's call. */
    isDelegated: boolean | undefined;
    /** The query with its question mark, or empty. Set by `guard`. */
    query: string;
    /** Undefined until a key is authenticated. */
    apiKey: ApiKey | undefined;
    /** The customer whose orders alone the request may reach. Null for a key. Set by `guard`. */
    customer: string | null | undefined;
    /** Undefined until a handler opens a database session. */
    database: DatabaseUsage | undefined;
  };
}

export type App = HonoBase<AppEnv>;

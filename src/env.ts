import type { KeyRecord } from "./auth/key-record.ts";
import type { RequestLog } from "./http/request-log.ts";

/**
 * What a handler finds on its context. The bindings (`Env`) are generated from wrangler.toml into
 * worker-configuration.d.ts by `npm run types:generate`.
 */
export interface AppEnv {
  Bindings: Env;
  Variables: {
    /** Also the `X-Request-Id` header. */
    requestId: string;
    /** Headers of the answer that are known before it is. */
    headers: Record<string, string>;
    /** The line that will be logged for this request; whoever learns something adds it. */
    log: RequestLog;
    /** Whose key it is. Undefined until `authorize` or `authenticate` has found it good. */
    apiKey: KeyRecord;
  };
}

import type { Context, MiddlewareHandler, Next } from "hono";
import type { AppEnv } from "../env.ts";

const CHANGES = new Set(["POST", "PUT", "PATCH", "DELETE"]);

/** Begins what follows from a change, with the time in milliseconds. No request waits for it, and no response depends on it. */
type Follower = (c: Context<AppEnv>, now: number) => void;

/** Calls these after a change with a 2xx. */
export function afterChanges(...followers: readonly Follower[]): MiddlewareHandler<AppEnv> {
  const after = async (c: Context<AppEnv>, next: Next) => {
    await next();
    if (!c.res.ok) return;
    const now = Date.now();
    for (const follow of followers) follow(c, now);
  };
  return (c, next) => {
    if (!CHANGES.has(c.req.method)) return next();
    const done = after(c, next);
    // A request ends when its client leaves, also while the database answers.
    c.executionCtx.waitUntil(done);
    return done;
  };
}

import { createFactory } from "hono/factory";
import type { AppEnv } from "./env.ts";

/** Makes the handlers of an operation, with the types of `AppEnv`. `guard` comes first; only `deprecated` may precede it. */
export const { createHandlers } = createFactory<AppEnv>();

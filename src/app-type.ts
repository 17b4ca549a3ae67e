import type { ApplyGlobalResponse } from "hono/client";
import type { createApp } from "./app.ts";
import type { ErrorBody, ERRORS } from "./errors.ts";

type ErrorStatus = (typeof ERRORS)[keyof typeof ERRORS]["status"];

/**
 * The type for TypeScript clients: `hc<AppType>(...)` of hono/client infers every operation with its types, failures included.
 */
export type AppType = ApplyGlobalResponse<
  ReturnType<typeof createApp>,
  { [Status in ErrorStatus]: { json: ErrorBody } }
>;

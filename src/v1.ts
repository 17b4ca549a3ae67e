import { Hono } from "hono";
import { categories } from "./categories/routes.ts";
import type { AppEnv } from "./env.ts";
import { events } from "./events/routes.ts";
import { store } from "./orders/routes.ts";
import { pets } from "./pets/routes.ts";

/** The operations of version 1 of the interface, one line per resource. */
export const v1 = new Hono<AppEnv>()
  .route("/pets", pets)
  .route("/categories", categories)
  .route("/store", store)
  .route("/events", events);

import { categories } from "./categories/routes.ts";
import { createRoutes } from "./operation.ts";
import { events } from "./events/routes.ts";
import { key } from "./key/routes.ts";
import { store } from "./orders/routes.ts";
import { live } from "./live/routes.ts";
import { pets } from "./pets/routes.ts";
import { webhookRoutes } from "./webhooks/routes.ts";

/** The operations of version 1 of the interface, one line per resource. */
export const v1 = createRoutes()
  .route("/pets", pets)
  .route("/categories", categories)
  .route("/store", store)
  .route("/events", events)
  .route("/events/live", live)
  .route("/webhooks", webhookRoutes)
  .route("/key", key);

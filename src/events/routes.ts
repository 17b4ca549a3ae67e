import { createRoutes } from "../operation.ts";
import { listEvents } from "./list-events.ts";

export const events = createRoutes().get("/", ...listEvents);

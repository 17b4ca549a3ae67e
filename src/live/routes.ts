import { createRoutes } from "../operation.ts";
import { followLive } from "./follow-live.ts";

export const live = createRoutes().get("/", ...followLive);

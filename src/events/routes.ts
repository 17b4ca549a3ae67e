import { Hono } from "hono";
import type { AppEnv } from "../env.ts";
import { listEvents } from "./list-events.ts";

export const events = new Hono<AppEnv>().get("/", ...listEvents);

// The usual stack, with every feature of the service for which Hono has a middleware.
import { Hono } from "hono";
import { type App, describe, refuse, useMiddleware } from "./shared.ts";
import { addPets } from "./tutorial-routes.ts";

const app = new Hono<App>();
useMiddleware(app);
addPets(app, ({ error }) => {
  if (error !== undefined) refuse(400, describe(error));
});

export default app;

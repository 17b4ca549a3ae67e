// The usual stack as in the tutorials: a bearer key, without scopes, rate limit, log, request id, CORS or secure headers.
import { Hono } from "hono";
import { type App, bearerKey } from "./shared.ts";
import { addPets } from "./tutorial-routes.ts";

const app = new Hono<App>();
app.use("/v1/*", bearerKey);
addPets(app);

export default app;

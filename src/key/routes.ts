import { createRoutes } from "../operation.ts";
import { createToken } from "./create-token.ts";
import { getKey } from "./get-key.ts";

export const key = createRoutes()
  .get("/", ...getKey)
  .post("/tokens", ...createToken);

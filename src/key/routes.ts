import { createRoutes } from "../operation.ts";
import { getKey } from "./get-key.ts";

export const key = createRoutes().get("/", ...getKey);

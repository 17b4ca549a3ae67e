import { creates } from "../changes/handlers.ts";
import { compileInsert } from "../changes/insert.ts";
import { guard } from "../http/guard.ts";
import { createHandlers } from "../operation.ts";
import { hasOwnName } from "./category.ts";
import { category } from "./shape.ts";

const insert = compileInsert("createCategory", category, "category.created", category.values, {
  rule: hasOwnName,
});

export const createCategory = createHandlers(
  guard("pets:write"),
  ...creates("createCategory", category.creation, (call, body) => insert(call, category.row(body))),
);

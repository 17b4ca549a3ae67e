import { guard } from "../http/guard.ts";
import { createHandlers } from "../operation.ts";
import { readOne } from "../http/read.ts";
import { categoryId, noSuchCategory } from "./category.ts";
import { category } from "./shape.ts";

export const getCategory = createHandlers(
  guard("pets:read", "pets:read"),
  readOne("getCategory", (c) => category.select({ id: categoryId(c) }), noSuchCategory),
);

import { compileSelect } from "../db/resource.ts";
import { guard } from "../http/guard.ts";
import { createHandlers } from "../operation.ts";
import { readOne } from "../http/read.ts";
import { categoryId, noSuchCategory } from "./category.ts";
import { category } from "./shape.ts";

const select = compileSelect("getCategory", category);

export const getCategory = createHandlers(
  guard("pets:read", "pets:read"),
  readOne("getCategory", (c) => select({ id: categoryId(c) }), noSuchCategory),
);

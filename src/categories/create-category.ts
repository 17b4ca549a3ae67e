import { notExists } from "drizzle-orm";
import { guard } from "../http/guard.ts";
import type { Parameter } from "../db/statement.ts";
import { compileCreation, create } from "../changes/creation.ts";
import { creates } from "../changes/handlers.ts";
import { createHandlers } from "../operation.ts";
import { categoryExists, withName } from "./category.ts";
import { category } from "./shape.ts";

const creation = compileCreation(
  category,
  "category.created",
  (db, parameter: Parameter<ReturnType<typeof category.row>>) => ({
    values: category.values(parameter),
    where: notExists(withName(db, parameter)),
  }),
);

export const createCategory = createHandlers(
  guard("pets:write"),
  ...creates(
    "createCategory",
    category.creation,
    (session, body, attempt) => create(session, creation, category.row(body), attempt),
    categoryExists,
  ),
);

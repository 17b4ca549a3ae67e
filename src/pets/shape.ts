import { type Body, defaulted, optional, required, shapeOf } from "../http/shape.ts";
import { customerField, int64Field, nameField, oneOf, rule } from "../http/validation.ts";
import { foldedOf, storedFold } from "./fold.ts";
import { PET_STATUSES, pets } from "./table.ts";

export const statusField = (ruleOf = rule) => oneOf(PET_STATUSES, ruleOf);

/** As the name of a customer: visible ASCII. */
export const externalIdField = customerField;

export const pet = shapeOf(
  pets,
  {
    name: required(nameField),
    categoryId: required(int64Field),
    status: defaulted(statusField, "available"),
    externalId: optional(externalIdField),
  },
  { folded: { field: "name", from: storedFold }, foldedOf: { field: "name", from: foldedOf } },
);

/** An animal as clients see it. */
export type Animal = Body<typeof pet>;

import { type Body, optional, required, shapeOf } from "../http/shape.ts";
import { nameField, textField } from "../http/validation.ts";
import { categories, MAX_DESCRIPTION_CHARACTERS } from "./table.ts";

export const category = shapeOf(categories, {
  name: required(nameField),
  description: optional(() => textField(MAX_DESCRIPTION_CHARACTERS)),
});

/** A category as clients see it. */
export type Category = Body<typeof category>;

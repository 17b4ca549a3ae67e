/** The kinds of value that each field may have: results of `typeof`, and `null`. */
export type Fields = Record<string, string>;

type Kind<Value> = Value extends bigint
  ? "bigint"
  : Value extends string
    ? "string"
    : Value extends number
      ? "number"
      : Value extends boolean
        ? "boolean"
        : Value extends readonly unknown[]
          ? "object"
          : never;

/** Every field of a resource, so that none of the document is forgotten. */
export type FieldsOf<Item> = {
  [
    Name in keyof Item
  ]-?: `${Kind<Item[Name]>}${null extends Item[Name] ? " null" : ""}${{} extends Pick<Item, Name> ? " undefined" : ""}`;
};

/** Whether a value has these fields. Later versions add other fields, and values to enumerations. */
export const fits =
  (fields: Fields) =>
  (value: unknown): boolean =>
    Object.entries(fields).every(([name, kinds]) => {
      const field = (value as Record<string, unknown> | null | undefined)?.[name];
      return kinds.includes(field === null ? "null" : typeof field);
    });

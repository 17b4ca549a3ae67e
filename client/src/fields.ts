import type {
  Animal,
  Category,
  Deleted,
  Key,
  Order,
  Token,
  UpsertedAnimal,
  VersionedAnimal,
  Webhook,
} from "./shapes.ts";

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

export const ANIMAL: FieldsOf<Animal> = {
  id: "bigint",
  name: "string",
  categoryId: "bigint",
  status: "string",
  externalId: "string undefined",
};
export const VERSIONED_ANIMAL: FieldsOf<VersionedAnimal> = { ...ANIMAL, version: "number" };
export const UPSERTED_ANIMAL: FieldsOf<UpsertedAnimal> = { ...VERSIONED_ANIMAL, result: "string" };
export const CATEGORY: FieldsOf<Category> = { id: "bigint", name: "string", description: "string undefined" };
export const ORDER: FieldsOf<Order> = {
  id: "bigint",
  petId: "bigint",
  quantity: "number",
  status: "string",
  createdAt: "string",
  shipDate: "string null",
  complete: "boolean",
  reference: "string undefined",
  customer: "string undefined",
};
export const KEY: FieldsOf<Key> = {
  id: "string",
  name: "string",
  scopes: "object",
  expiresAt: "string undefined",
  customer: "string undefined",
};
export const TOKEN: FieldsOf<Token> = {
  token: "string",
  id: "string",
  customer: "string",
  scopes: "object",
  expiresAt: "string",
};
export const WEBHOOK: FieldsOf<Webhook> = {
  id: "bigint",
  url: "string",
  types: "object",
  enabled: "boolean",
  disabledReason: "string undefined",
  createdBy: "string",
  createdAt: "string",
  concurrency: "number undefined",
};
export const DELETED: FieldsOf<Deleted> = { id: "bigint" };

/** Whether a value has these fields. Later versions add other fields, and values to enumerations. */
export const fits =
  (fields: Fields) =>
  (value: unknown): boolean =>
    Object.entries(fields).every(([name, kinds]) => {
      const field = (value as Record<string, unknown> | null | undefined)?.[name];
      return kinds.includes(field === null ? "null" : typeof field);
    });

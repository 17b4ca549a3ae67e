// The bundle has this in the place of drizzle, whose queries only the build needs (wrangler.toml, `[alias]`). Whatever is called, built or
// read here is again this nothing.
// oxlint-disable-next-line typescript/no-explicit-any
const nothing: any = new Proxy(function () {}, {
  get: () => nothing,
  apply: () => nothing,
  construct: () => nothing,
});

/** Add what a module imports of drizzle. */
export const {
  and,
  asc,
  customType,
  desc,
  eq,
  exists,
  getTableColumns,
  gt,
  gte,
  inArray,
  integer,
  isNull,
  lt,
  lte,
  max,
  ne,
  not,
  notExists,
  or,
  sql,
  sqliteTable,
  text,
  unionAll,
} = nothing;

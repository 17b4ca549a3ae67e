// The bundle has this in the place of drizzle and of modules that only call it: only the build needs queries (wrangler.toml, `[alias]`). Whatever is called, built or
// read here is again this nothing.
// oxlint-disable-next-line typescript/no-explicit-any
const nothing: any = new Proxy(function () {}, {
  get: () => nothing,
  apply: () => nothing,
  construct: () => nothing,
});

/** Add what a module imports of them. */
export const {
  and,
  asc,
  candidates,
  changeOf,
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

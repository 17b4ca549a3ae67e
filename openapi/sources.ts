/** The sources of the pages, from the root of the repository. The lock file represents the packages. */
export const SOURCES = [
  "client/README.md",
  "client/released",
  "client/src",
  "docs",
  "examples/claim.mjs",
  "examples/clients",
  "examples/webhook-receiver.mjs",
  "openapi",
  "register",
  "src",
  "package.json",
  "package-lock.json",
];

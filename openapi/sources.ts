/** The sources of the pages, from the root of the repository. The lock file represents the packages. */
export const SOURCES = [
  "client/README.md",
  "client/released",
  "client/src",
  "docs",
  "drizzle/statements.ts",
  "examples/claim.mjs",
  "examples/clients",
  "examples/webhook-receiver.mjs",
  "openapi",
  "register",
  "src",
  // In the script of the console.
  "src/auth/scopes.ts",
  "package.json",
  "package-lock.json",
];

/** The published guides: their name, and their title. */
export const GUIDES = {
  shop: "Build a shop",
  browsers: "Browsers and phones",
  imports: "Import animals",
  books: "Keep the books",
  offline: "Work offline",
  client: "TypeScript client",
  orders: "Selling an animal",
  events: "Keeping a copy",
  webhooks: "Receiving events",
  agents: "Agents",
  errors: "Errors",
  guarantees: "Guarantees",
  languages: "Other languages",
  keys: "API keys",
  "not-offered": "Not offered",
  versioning: "Versioning",
  "whats-new": "What is new",
};

/** The page of a guide, from the root of the repository. */
export const sourceOf = (name: string) => (name === "client" ? "client/README.md" : `docs/${name}.md`);

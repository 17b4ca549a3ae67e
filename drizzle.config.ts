import { defineConfig } from "drizzle-kit";

// `npm run db:generate` writes the SQL in drizzle/ from the tables; wrangler applies it.
export default defineConfig({ dialect: "sqlite", schema: "./src/*/table.ts", out: "./drizzle" });

import { createHash } from "node:crypto";
import type { Databases } from "./databases.ts";
import { found, type Route, routes } from "./route.ts";

/** The requests of `d1 execute --file`: one for the address of an upload, then one to run the uploaded file. */
interface ImportRequest {
  action: "init" | "ingest";
  etag: string;
  filename?: string;
}

/** @param address of the API, for the upload. */
export function importRoutes(databases: Databases, address: () => string): Route[] {
  const uploads = new Map<string, string>();
  return routes({
    "POST /d1/database/:database/import": async ({ params, body }) => {
      const { action, etag, filename = etag } = (await body.json()) as ImportRequest;
      if (action === "init") return { upload_url: `${address()}/uploads/${etag}`, filename };
      const sql = found(uploads.get(filename), 400, 7500, "Nothing was uploaded.");
      databases.query(params["database"] ?? "", sql);
      const meta = { duration: 0, rows_read: 0, rows_written: 0, size_after: 0 };
      const result = { num_queries: sql.split("\n").length, final_bookmark: "", meta };
      return { success: true, type: "import", status: "complete", messages: [], result };
    },
    "PUT /uploads/:file": async ({ params, body }) => {
      const text = await body.text();
      uploads.set(params["file"] ?? "", text);
      return new Response(null, { headers: { ETag: createHash("md5").update(text).digest("hex") } });
    },
  });
}

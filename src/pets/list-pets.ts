import { and, asc, eq, gt, type SQL, sql } from "drizzle-orm";
import { createFactory } from "hono/factory";
import * as z from "zod/mini";
import { guard } from "../auth/guard.ts";
import { compile, type QueryBuilder } from "../db/statement.ts";
import type { AppEnv } from "../env.ts";
import type { Int64 } from "../exact/int64.ts";
import { pageBounds, pageFields, respondWithPage } from "../http/paging.ts";
import { openSession } from "../http/bookmark.ts";
import { query } from "../http/validation.ts";
import { lazy } from "../lazy.ts";
import { type Pet, petColumns, statusField, toAnimal } from "./pet.ts";
import { type PetStatus, pets } from "./table.ts";

/** Other parameters are ignored. */
export const listPetsQuery = lazy(() => z.object({ ...pageFields(), status: z.optional(statusField()) }));

const parameter = sql.placeholder;
const after = () => gt(pets.id, parameter("after"));
const page = (db: QueryBuilder, where: SQL | undefined) =>
  db.select(petColumns()).from(pets).where(where).orderBy(asc(pets.id)).limit(parameter("limit"));

// Each reads no more rows than its limit, however deep the page lies and however rare the status is.
const selectPage = compile<{ after: Int64; limit: number }, Pet>((db) => page(db, after()));
const selectPageByStatus = compile<{ after: Int64; limit: number; status: PetStatus }, Pet>((db) =>
  page(db, and(eq(pets.status, parameter("status")), after())),
);

export const listPets = createFactory<AppEnv>().createHandlers(guard("pets:read"), query(listPetsQuery), async (c) => {
  const filter = c.req.valid("query");
  const bounds = pageBounds(filter);
  const { status } = filter;
  const rows = await openSession(c).read(
    status === undefined ? selectPage(bounds) : selectPageByStatus({ ...bounds, status }),
  );
  return respondWithPage(c, filter, rows, toAnimal);
});

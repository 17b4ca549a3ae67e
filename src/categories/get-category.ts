import { guard } from "../http/guard.ts";
import { createHandlers } from "../create-handlers.ts";
import { toFound } from "../http/found.ts";
import { respondToRead } from "../http/read.ts";
import { categoryId, noSuchCategory, selectCategory, toCategory } from "./category.ts";

export const getCategory = createHandlers(guard("pets:read"), (c) =>
  respondToRead(c, async (session) => {
    const [category] = await session.read(selectCategory({ id: categoryId(c) }));
    if (category === undefined) throw noSuchCategory();
    return toFound(category, toCategory);
  }),
);

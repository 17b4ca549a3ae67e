import * as z from "zod/mini";
import { after, type Bounds, inEachOrder, page } from "../db/page.ts";
import { compile, type Parameter } from "../db/statement.ts";
import { guard } from "../http/guard.ts";
import { pageBounds, pageFields } from "../http/paging.ts";
import { readPage } from "../http/read.ts";
import { lazy } from "../lazy.ts";
import { createHandlers } from "../operation.ts";
import { webhooks } from "./table.ts";
import { webhook } from "./webhook.ts";

export const listWebhooksQuery = lazy(() => z.strictObject(pageFields()));

const selects = inEachOrder((sort) =>
  compile(`listWebhooks.${sort}`, (db, parameter: Parameter<Bounds>) =>
    page(db, parameter, webhook, after(webhooks, parameter, sort), sort),
  ),
);

export const listWebhooks = createHandlers(
  guard("webhooks:manage"),
  ...readPage("listWebhooks", listWebhooksQuery, (filter) => selects[filter.sort ?? "id"](pageBounds(filter))),
);

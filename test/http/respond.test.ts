import { createExecutionContext } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { type Handler, Hono } from "hono";
import { expect, test } from "vitest";
import type { AppEnv } from "../../src/env.ts";
import { onError } from "../../src/http/error-handler.ts";
import { lifecycle } from "../../src/http/lifecycle.ts";
import { addLink, json } from "../../src/http/respond.ts";
import { REQUEST_ID } from "../support/client.ts";

async function respond(handler: Handler<AppEnv>): Promise<Response> {
  const app = new Hono<AppEnv>().use(lifecycle).get("/", handler);
  app.onError(onError);
  const request = new Request("https://pets.example/", { headers: { Origin: "https://shop.example" } });
  return app.fetch(request, env, createExecutionContext());
}

const HANDLERS: { [name: string]: Handler<AppEnv> } = {
  "json of respond.ts": (c) => json(c, { made: "here" }, 200),
  "c.json": (c) => c.json({ made: "by Hono" }, 200),
  "c.json after c.header": (c) => {
    c.header("X-Own", "kept");
    return c.json({ made: "by Hono" }, 200, { "X-Other": "kept" });
  },
  "c.body": (c) => c.body(null, 204),
  "c.redirect": (c) => c.redirect("/elsewhere"),
  "a Response": () => new Response("made by hand"),
  "a Response that cannot be changed": () => Response.redirect("https://elsewhere.example/"),
  "an exception": () => {
    throw new Error("unexpected");
  },
};

test.each(Object.entries(HANDLERS))(
  "a handler that responds with %s sends the headers of every response",
  async (_, handler) => {
    const { headers } = await respond(handler);
    expect(headers.get("X-Request-Id")).toMatch(REQUEST_ID);
    expect(headers.get("X-Content-Type-Options")).toBe("nosniff");
    expect(headers.get("Strict-Transport-Security")).toMatch(/^max-age=/);
    expect(headers.get("Content-Security-Policy")).toMatch(/^default-src 'none'/);
    expect(headers.get("Cache-Control")).toBe("no-store");
    expect(headers.get("Access-Control-Allow-Origin")).toBe("*");
  },
);

test("headers that a handler sets are kept", async () => {
  const handler: Handler<AppEnv> = (c) => {
    c.header("X-Own", "kept");
    return c.json({}, 200, { "Cache-Control": "public" });
  };
  const { headers } = await respond(handler);
  expect(headers.get("X-Own")).toBe("kept");
  expect(headers.get("Cache-Control")).toBe("public");
  expect(headers.get("Content-Type")).toBe("application/json");
});

test("a deprecated list keeps both of its links", async () => {
  const { headers } = await respond((c) => {
    addLink(c, '</v1/pets>; rel="successor-version"');
    addLink(c, '</v1/toys?cursor=x>; rel="next"');
    return json(c, [], 200);
  });
  expect(headers.get("Link")).toBe('</v1/pets>; rel="successor-version", </v1/toys?cursor=x>; rel="next"');
});

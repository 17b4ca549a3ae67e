import { parse as parseToml } from "smol-toml";
import { describe, expect, test } from "vitest";
import { LOCAL_API_KEY } from "../../src/local-api-key.ts";
import { call, expectError, ORIGIN } from "../support/client.ts";

const LINKS =
  '</openapi.json>; rel="service-desc", </docs>; rel="service-doc", </llms.txt>; rel="describedby", </.well-known/api-catalog>; rel="api-catalog"';
const PLACEHOLDER = "petstore.example";

async function get(path: string, headers: Record<string, string> = {}) {
  const response = await call(path, { headers });
  return { response, text: await response.text() };
}

const typeOf = ({ headers }: Response) => headers.get("Content-Type");
const HTML = "text/html; charset=utf-8";
const MARKDOWN = "text/markdown; charset=utf-8";

async function pages(): Promise<string[]> {
  const { text } = await get("/sitemap.xml");
  return [...text.matchAll(/<loc>https:\/\/pets\.example(.*?)<\/loc>/g)].map(([, path = ""]) => path);
}
const isMarkdown = (path: string) => path !== "/docs/reference";

// Promise: pages-are-markdown
describe("a page", () => {
  test("is Markdown with the suffix or by its Accept, each with a tag of its own", async () => {
    const paths = await pages();
    expect(paths).toEqual(expect.arrayContaining(["/docs", "/docs/agents", "/docs/errors", "/docs/reference"]));
    for (const path of paths.filter(isMarkdown)) {
      const html = await get(path, { Accept: "text/html" });
      const suffixed = await get(`${path}.md`);
      const negotiated = await get(path, { Accept: "text/markdown" });
      expect([html.response.status, typeOf(html.response)], path).toEqual([200, HTML]);
      for (const { response, text } of [suffixed, negotiated]) {
        expect([response.status, typeOf(response)], path).toEqual([200, MARKDOWN]);
        expect(text).toMatch(/^# \S/);
        expect(text).not.toContain(PLACEHOLDER);
      }
      expect(negotiated.text).toBe(suffixed.text);
      expect(html.text).toContain(`<link rel="alternate" type="text/markdown" href="${path}.md">`);
      for (const { response } of [html, suffixed, negotiated]) {
        expect(response.headers.get("Vary"), path).toBe("Accept");
        expect(response.headers.get("Link"), path).toBe(LINKS);
        expect(response.headers.get("Cache-Control"), path).toBe("public, max-age=0, must-revalidate");
      }

      const tags = [html, negotiated].map(({ response }) => response.headers.get("ETag") ?? "");
      expect(new Set(tags).size, path).toBe(2);
      for (const [accept, tag, other] of [
        ["text/html", tags[0], tags[1]],
        ["text/markdown", tags[1], tags[0]],
      ] as const) {
        const same = await get(path, { Accept: accept, "If-None-Match": tag ?? "" });
        expect([same.response.status, same.text], path).toEqual([304, ""]);
        expect(["ETag", "Vary", "Link"].map((name) => same.response.headers.get(name))).toEqual([tag, "Accept", LINKS]);
        const changed = await get(path, { Accept: accept, "If-None-Match": other ?? "" });
        expect([changed.response.status, changed.response.headers.get("ETag")], path).toEqual([200, tag]);
      }
    }
  });

  test.each([
    // What browsers, curl and agents send.
    [undefined, HTML],
    ["*/*", HTML],
    ["text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,*/*;q=0.8", HTML],
    ["text/html, image/gif, image/jpeg, *; q=.2, */*; q=.2", HTML],
    ["text/markdown", MARKDOWN],
    ["text/markdown, text/html, */*", MARKDOWN],
    ["text/markdown,text/html;q=0.9,text/plain;q=0.8,*/*;q=0.1", MARKDOWN],
    ["text/plain, text/markdown, */*", MARKDOWN],
    // Weights.
    ["text/html;q=0.9, text/markdown;q=0.9", MARKDOWN],
    ["text/html;q=0.9, text/markdown;q=0.899", HTML],
    ["text/markdown;q=0.5, text/html;q=0.4", MARKDOWN],
    ["text/html, text/markdown;q=0.9", HTML],
    ["text/markdown;q=0", HTML],
    ["text/markdown;q=0.000, text/html;q=0", HTML],
    ["text/markdown;q=0.001", MARKDOWN],
    ["text/markdown;q=0.5, */*;q=0.8", HTML],
    ["text/markdown;q=0.5, text/*;q=0.8", HTML],
    ["text/markdown;q=0.5, text/*;q=0.3, */*;q=0.8", MARKDOWN],
    ["text/markdown;q=0.5, text/html;q=0.3, text/*;q=0.8, */*", MARKDOWN],
    // A range does not name Markdown.
    ["text/*", HTML],
    ["text/plain", HTML],
    ["text/markdownx, x/text/markdown", HTML],
    // Case, white space and parameters.
    ["TEXT/Markdown;Q=1", MARKDOWN],
    [" ,, text/markdown ; variant=GFM ; q=0.7 , text/html;q=0.7", MARKDOWN],
    ['text/markdown;note="a, text/html;q=1";q=0.6, text/html;q=0.6', MARKDOWN],
    ['text/plain;note="x, text/markdown"', HTML],
    ["text/html;level=1;q=0.3, text/html;q=0.7, text/markdown;q=0.5", HTML],
    // Malformed.
    ["", HTML],
    [",", HTML],
    [";q=1", HTML],
    ["text/markdown;q=-1", HTML],
    ["text/markdown;q=0.0.0", HTML],
    ["text/markdown;q=", HTML],
    ["text/markdown;q=0.5, text/html;q=x", HTML],
    ["text/markdown;q=2, text/html", MARKDOWN],
    ["__proto__, constructor;q=1", HTML],
  ])("for Accept: %s has the media type %s", async (accept, type) => {
    for (const path of ["/docs", "/docs/", "/docs/keys"]) {
      const { response } = await get(path, accept === undefined ? {} : { Accept: accept });
      expect([response.status, typeOf(response), response.headers.get("Vary")]).toEqual([200, type, "Accept"]);
    }
  });

  test("has the headers of each representation for HEAD too", async () => {
    for (const path of ["/docs", "/docs/", "/docs/keys", "/docs/keys.md"]) {
      for (const accept of ["text/html", "text/markdown"]) {
        const { response } = await get(path, { Accept: accept });
        const head = await call(path, { method: "HEAD", headers: { Accept: accept } });
        expect([head.status, await head.text()]).toEqual([200, ""]);
        for (const name of ["Content-Type", "ETag", "Vary", "Link", "Cache-Control"])
          expect(head.headers.get(name), name).toBe(response.headers.get(name));
      }
    }
  });

  test("has not the length of the asset, which has another address", async () => {
    const ASSETS = {
      fetch: async () => new Response("", { headers: { "Content-Type": MARKDOWN, "Content-Length": "5" } }),
    };
    const response = await call("/docs/keys.md", {
      method: "HEAD",
      bindings: { ASSETS: ASSETS as unknown as Fetcher },
    });
    expect([response.status, response.headers.get("Content-Length")]).toEqual([200, null]);
  });

  test("is HTML where there is no Markdown, and missing where there is no page", async () => {
    const reference = await get("/docs/reference", { Accept: "text/markdown" });
    expect([typeOf(reference.response), reference.response.headers.get("Link")]).toEqual([HTML, LINKS]);
    const asset = /\/docs\/assets\/[\w-]+\/page\.css/.exec(reference.text)?.[0] ?? expect.unreachable("no styles");
    expect(typeOf((await get(asset, { Accept: "text/markdown" })).response)).toBe("text/css; charset=utf-8");
    for (const path of ["/docs/nothing", "/docs/nothing.md", "/docs/reference.md", "/docs/docs.md", "/docs/404.md"])
      await expectError(await call(path, { headers: { Accept: "text/markdown" } }), "not_found");
    const missing = await get("/docs/nothing", { Accept: "text/markdown, text/html" });
    expect([missing.response.status, typeOf(missing.response)]).toEqual([404, HTML]);
  });
});

// Promise: programs-find-the-api
describe("a program finds", () => {
  test("the pages in llms.txt, within 5,000 bytes", async () => {
    const { response, text } = await get("/llms.txt");
    expect([response.status, typeOf(response)]).toEqual([200, "text/plain; charset=utf-8"]);
    expect(new TextEncoder().encode(text).length).toBeLessThanOrEqual(5_000);
    expect(text).toMatch(/^# Pet Store Service\n\n> \S/);
    const links = [...text.matchAll(/\]\((.*?)\)/g)].map(([, link = ""]) => link);
    for (const path of (await pages()).filter(isMarkdown)) expect(links).toContain(`${ORIGIN}${path}.md`);
    for (const link of links) {
      expect(link.startsWith(`${ORIGIN}/`), link).toBe(true);
      expect((await get(link.slice(ORIGIN.length))).response.status, link).toBe(200);
    }
  });

  test("all pages in llms-full.txt", async () => {
    const { text } = await get("/llms-full.txt");
    for (const path of (await pages()).filter(isMarkdown)) expect(text).toContain((await get(`${path}.md`)).text);
  });

  test("every page in the sitemap, which robots.txt names", async () => {
    const robots = await get("/robots.txt");
    expect(typeOf(robots.response)).toBe("text/plain; charset=utf-8");
    expect(robots.text).toBe(
      `User-agent: *\nAllow: /\nContent-Signal: search=yes, ai-input=yes\n\nSitemap: ${ORIGIN}/sitemap.xml\n`,
    );
    expect(typeOf((await get("/sitemap.xml")).response)).toMatch(/^application\/xml/);
    const { text } = await get("/docs");
    const named = [...text.matchAll(/href="(\/docs(?:\/[\w-]+)?)"/g)].map(([, path]) => path);
    expect(new Set(await pages())).toEqual(new Set(named));
    for (const path of await pages()) expect((await get(path)).response.status, path).toBe(200);
  });

  test("the API in the catalogue", async () => {
    const { response, text } = await get("/.well-known/api-catalog");
    expect([response.status, typeOf(response)]).toEqual([
      200,
      'application/linkset+json; profile="https://www.rfc-editor.org/info/rfc9727"',
    ]);
    const { linkset } = JSON.parse(text) as { linkset: Record<string, string | { href: string; type: string }[]>[] };
    expect(linkset.map(({ anchor }) => anchor)).toEqual([`${ORIGIN}/v1`, `${ORIGIN}/mcp`]);
    const links = linkset.flatMap((context) => Object.values(context).filter((value) => typeof value !== "string"));
    expect(links.length).toBeGreaterThan(2);
    for (const { href, type } of links.flat()) {
      const linked = await get(new URL(href).pathname);
      expect([new URL(href).origin, linked.response.status]).toEqual([ORIGIN, 200]);
      expect(typeOf(linked.response)?.split(";")[0], href).toBe(type);
    }
    const head = await call("/.well-known/api-catalog", { method: "HEAD" });
    expect([head.status, typeOf(head), head.headers.get("Link")]).toEqual([
      200,
      typeOf(response),
      '</.well-known/api-catalog>; rel="api-catalog"',
    ]);
  });

  test("what the links of / name", async () => {
    for (const method of ["GET", "HEAD"]) {
      const { status, headers } = await call("/", { method });
      expect([status, headers.get("Location"), headers.get("Link")]).toEqual([302, "/docs", LINKS]);
    }
    for (const [, path = ""] of LINKS.matchAll(/<(.*?)>/g)) expect((await get(path)).response.status, path).toBe(200);
  });

  const HOSTS = ["pets.example", "127.0.0.1:8787", "[2001:db8::1]:8443"];

  test("the address that it asked, from any origin, with an ETag of its own", async () => {
    for (const path of [
      "/openapi.json",
      "/docs/agents.md",
      "/llms.txt",
      "/llms-full.txt",
      "/robots.txt",
      "/sitemap.xml",
      "/.well-known/api-catalog",
    ]) {
      const tags = new Set<string | null>();
      for (const host of HOSTS) {
        const response = await call(path, { host });
        tags.add(response.headers.get("ETag"));
        expect(response.headers.get("Access-Control-Allow-Origin"), path).toBe("*");
        const text = await response.text();
        expect(text).toContain(`https://${host}/`);
        expect(text).not.toContain(PLACEHOLDER);
        const unchanged = await call(path, {
          host,
          headers: { "If-None-Match": response.headers.get("ETag") ?? "" },
        });
        expect([unchanged.status, await unchanged.text()], path).toEqual([304, ""]);
        tags.add(unchanged.headers.get("ETag"));
        for (const other of HOSTS.filter((one) => one !== host))
          expect(
            (await call(path, { host: other, headers: { "If-None-Match": response.headers.get("ETag") ?? "" } }))
              .status,
          ).toBe(200);
      }
      expect(tags.size).toBe(HOSTS.length);
      await expectError(await call(path, { method: "POST" }), "method_not_allowed");
    }
  });
});

test("the settings of the guide for agents are well formed, and name this deployment", async () => {
  const { text } = await get("/docs/agents.md");
  const blocks = [...text.matchAll(/^```(\w+)\n([^]*?)^```$/gm)];
  expect(blocks.length).toBeGreaterThan(3);
  for (const [, language, settings = ""] of blocks) {
    const read: unknown = language === "toml" ? parseToml(settings) : JSON.parse(settings);
    expect(JSON.stringify(read)).toContain(`"${ORIGIN}/mcp"`);
  }
});

describe("the console", () => {
  const open = (bindings: object, headers = {}) => call("/console", { bindings, headers });

  test.each(["local", "staging", "production"] as const)("names its environment, %s", async (ENVIRONMENT) => {
    const response = await open({ ENVIRONMENT });
    const text = await response.text();
    expect([response.status, typeOf(response)]).toEqual([200, HTML]);
    expect(text).toContain(`data-environment="${ENVIRONMENT}"`);
    // The key of local development is in the page of local development, and in no other.
    expect(text.includes(LOCAL_API_KEY)).toBe(ENVIRONMENT === "local");
    expect(text).not.toMatch(/<script(?![^>]* src=")|<style|\son\w+=|style=/);
    expect(response.headers.get("Content-Security-Policy")).toBe(
      "default-src 'none'; script-src 'self'; style-src 'self'; img-src data:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types lit-html",
    );
    expect(response.headers.get("Referrer-Policy")).toBe("no-referrer");
    const same = await open({ ENVIRONMENT }, { "If-None-Match": response.headers.get("ETag") ?? "" });
    expect([same.status, await same.text()]).toEqual([304, ""]);
  });

  test.each([{ CONSOLE: "off" }, { CONSOLE: "" }, { CONSOLE: undefined }, { CONSOLE: "On" }, { ENVIRONMENT: "other" }])(
    "is left out with %o",
    async (bindings) => {
      await expectError(await open(bindings, { Accept: "text/html" }), "not_found");
    },
  );

  test("has no other address", async () => {
    for (const path of ["/console/local", "/console/local.html", "/console.html", "/console/"])
      await expectError(await call(path), "not_found");
  });
});

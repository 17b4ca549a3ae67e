import { expect, onTestFinished, test } from "vitest";
import { PAGES } from "../../scripts/docs/pages.ts";
import { temporaryFolder } from "../built/folder.ts";
import { killGroup, startDev } from "./dev-service.ts";
import { isForClients, isTestedElsewhere } from "./documentation/kinds.ts";
import { readPage } from "./documentation/page.ts";
import { Reader } from "./documentation/reader.ts";

// Sends every request of every page for clients to a new `npm run dev`, in the order of the page.

/** The quick start is embedded in the page of the reference. */
const QUICK_START = "openapi/quick-start.md";
const CLIENT_PAGES = [...PAGES, QUICK_START].filter((path) => isForClients(readPage(path)));
const ADDRESS = "http://localhost:8787";
/** A time, and a random id, a place in the feed, a bookmark or a token, which may be shortened. */
const NEW = /\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z|\b(?:evt_)?[\da-f][\da-f-]{23,}\b|_t_[\w.-]+/g;

test("the README, the guarantees, the orders and the quick start have requests", () => {
  expect(CLIENT_PAGES).toEqual(
    expect.arrayContaining(["README.md", "docs/guarantees.md", "docs/orders.md", QUICK_START]),
  );
});

test.each(CLIENT_PAGES)("%s", async (path) => {
  const { process, base, key } = await startDev(temporaryFolder(onTestFinished));
  const reader = new Reader(".", { BASE: base, KEY: key });
  onTestFinished(() => {
    killGroup(process);
    reader.leave();
  });
  const { origin } = new URL(base);
  const commands = readPage(path).sections.flatMap(({ commands }) => commands);
  for (const { text, prints } of commands.filter((command) => !isTestedElsewhere(command))) {
    const mine = text.replaceAll(ADDRESS, origin).replaceAll("{base}", base).replaceAll("{key}", key);
    // If the page shows no response, the request has to succeed.
    const { code, stdout, stderr } = await reader.run(mine, "", prints === undefined ? undefined : "");
    expect(code, `$ ${text}\n${stdout}${stderr}`).toBe(0);
    const shown = stdout.replaceAll(origin, ADDRESS).replaceAll("\r", "").trim().replaceAll(NEW, "new");
    if (prints !== undefined) expect(shown, `$ ${text}`).toBe(prints.replaceAll(NEW, "new"));
  }
});

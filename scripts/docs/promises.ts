// Sentences of the pages for clients that promise a behaviour carry a mark, `<!-- promise: id -->`, and a test names the mark in a
// comment above it, `// Promise: id`. `<!-- advice -->` marks an item that promises nothing in a list of promises.
import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { Marked } from "marked";
import { ROOT } from "./pages.ts";

/** The pages whose sentences are promises to clients. */
const PROMISING = [
  "client/README.md",
  ...[
    "agents",
    "books",
    "browsers",
    "errors",
    "events",
    "guarantees",
    "imports",
    "offline",
    "orders",
    "shop",
    "versioning",
    "webhooks",
  ].map((name) => `docs/${name}.md`),
];
const TESTS = ["test/**/*.ts", "scripts/check-*.ts"];

/** A comment of a test, which is not the last line of its file. */
const NAMES = /^ *\/\/ Promise: (.+)\n(?= *\S)/gm;

export interface Texts {
  [file: string]: string;
}

/** The pages with promises, and the files that may name them. */
export const promisingPages = (): Texts => readAll(PROMISING);
export const testFiles = (): Texts => readAll(globSync(TESTS, { cwd: ROOT }).toSorted());

const readAll = (files: string[]): Texts =>
  Object.fromEntries(files.map((file) => [file, readFileSync(join(ROOT, file), "utf8")]));

/**
 * One line for each promise that no test names, each test that names none, and each item of a list of promises that has no mark.
 *
 * @param pages Markdown texts by their path.
 * @param tests source texts by their path.
 */
export function findPromiseFaults(pages: Texts, tests: Texts): string[] {
  const promised = idsOf(pages, /<!-- promise: ([a-z\d-]+) -->/g);
  const tested = idsOf(tests, NAMES);
  const known = new Set(promised.map(([id]) => id));
  const named = new Set(tested.map(([id]) => id));
  return [
    ...promised.filter(([id]) => !named.has(id)).map(([id, page]) => `${page}: no test names the promise ${id}.`),
    ...promised
      .filter(([id], index) => promised.findIndex(([other]) => other === id) < index)
      .map(([id, page]) => `${page}: ${id} is another promise.`),
    ...tested.filter(([id]) => !known.has(id)).map(([id, file]) => `${file}: no page has the promise ${id}.`),
    ...Object.entries(pages).flatMap(([page, text]) =>
      itemsWithoutMark(text).map((item) => `${page}: an item in a list of promises has no mark: ${item}`),
    ),
  ];
}

/** Each id, and where it is. */
function idsOf(texts: Texts, pattern: RegExp): [id: string, file: string][] {
  return Object.entries(texts).flatMap(([file, text]) =>
    [...text.matchAll(pattern)].flatMap(([, ids = ""]) => ids.split(", ").map((id): [string, string] => [id, file])),
  );
}

/** The first lines of the items that do not end with a mark, although another item of their list has one. */
function itemsWithoutMark(markdown: string): string[] {
  const found: string[] = [];
  const marked = new Marked({
    walkTokens(token) {
      if (token.type !== "list") return;
      const items = (token["items"] as { raw: string }[]).map(({ raw }) => raw.trim());
      if (!items.some((item) => item.includes("<!-- promise: "))) return;
      found.push(...items.filter((item) => !/<!-- (?:promise: [a-z\d-]+|advice) -->$/.test(item)));
    },
  });
  marked.parse(markdown, { async: false });
  return found.map((item) => item.split("\n", 1)[0] ?? "");
}

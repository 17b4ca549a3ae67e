import type { Connection, Memory, RequestOptions } from "./connection.ts";
import { fits } from "./fields.ts";
import { isInt64Field, toDigits } from "./int64.ts";
import type { ResourceScope } from "./requests.ts";
import type { operations } from "./schema.ts";

/** A page of a list. */
export interface Page<Item> {
  readonly items: Item[];
  /** Where the next page starts, or undefined on the last page. A later `list({ cursor })` goes on from there. */
  readonly cursor: string | undefined;
  /** Fetches the next page. Resolves to undefined after the last page. */
  next(options?: RequestOptions): Promise<Page<Item> | undefined>;
}

/** The request of the first page. */
interface First {
  operation: keyof operations;
  path: string;
  query: Query;
  options: RequestOptions;
}

interface Query {
  cursor?: string | undefined;
}

/** A list, in ascending order of id. Iterate over it for every item of every page, or fetch its pages. */
export class List<Item> implements AsyncIterable<Item> {
  readonly #first: First;
  readonly #connection: Connection;
  readonly #memory: Memory;
  readonly #isItem: (value: unknown) => boolean;

  constructor({ connection, memory, fields }: ResourceScope, first: First) {
    this.#first = first;
    this.#connection = connection;
    this.#isItem = fits(fields);
    // Without a session, the pages remember for themselves: a page from an older replica than the one before ends early.
    this.#memory = memory ?? { bookmark: undefined };
  }

  /** Fetches the first page. */
  page(options: RequestOptions = this.#first.options): Promise<Page<Item>> {
    return this.#fetch(this.#first.query, options);
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Item, void, undefined> {
    let page: Page<Item> | undefined = await this.page();
    while (page !== undefined) {
      yield* page.items;
      page = await page.next();
    }
  }

  /** @param after the last id of the page before. */
  async #fetch(query: Query, { signal }: RequestOptions, after: bigint | number = -Infinity): Promise<Page<Item>> {
    const { operation, path, options } = this.#first;
    const expects = (value: unknown, headers: Headers): boolean => {
      const cursor = nextCursor(headers);
      // A page that does not go on, at a greater id, would make the iteration endless.
      return (
        Array.isArray(value) &&
        value.every((item, index) => this.#isItem(item) && item.id > (index > 0 ? value[index - 1].id : after)) &&
        (cursor === undefined || (cursor !== "" && cursor !== query.cursor && value.length > 0))
      );
    };
    const call = { operation, method: "GET", path, query: search(query), repeatable: true, expects, signal } as const;
    const { value, headers } = await this.#connection.send(call, this.#memory);
    const items = value as (Item & { id: bigint })[];
    const cursor = nextCursor(headers);
    const next = async (nextOptions: RequestOptions = options): Promise<Page<Item> | undefined> =>
      cursor === undefined ? undefined : this.#fetch({ ...query, cursor }, nextOptions, items.at(-1)?.id);
    return { items, cursor, next };
  }
}

/** A link with its parameters (RFC 8288, section 3), and its relations in quotes or not. Both take linear time. */
const LINK = /<([^<>]*)>((?:[^<"]|"[^"]*")*)/g;
const REL = /;\s*rel\s*=\s*(?:"([^"]*)"|([^\s;,]*))/i;

/**
 * The cursor of the next page, or undefined on the last one. Empty when the link to the next page has none.
 *
 * The address in `Link` may be that of another origin, which must not get the API key. The cursor is all that it adds.
 */
function nextCursor(headers: Headers): string | undefined {
  for (const [, address = "", parameters = ""] of (headers.get("Link") ?? "").matchAll(LINK)) {
    const [, quoted, token] = REL.exec(parameters) ?? [];
    if (/(?:^|\s)next(?:$|\s)/i.test(quoted ?? token ?? "")) {
      return new URLSearchParams(address.split("?")[1]).get("cursor") ?? "";
    }
  }
  return undefined;
}

/** @throws RangeError when a 64-bit filter holds no exact integer. */
function search(query: Query): URLSearchParams {
  const parameters = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    for (const item of [value].flat()) {
      if (item !== undefined) parameters.append(name, isInt64Field(name) ? toDigits(item) : String(item));
    }
  }
  return parameters;
}

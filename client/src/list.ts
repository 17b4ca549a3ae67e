import type { Connection, Memory, RequestOptions } from "./connection.ts";
import { isInt64Field, toDigits } from "./int64.ts";
import type { Scope } from "./requests.ts";
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
  query: object;
  options: RequestOptions;
}

/** A list, in ascending order of id. Iterate over it for every item of every page, or fetch its pages. */
export class List<Item> implements AsyncIterable<Item> {
  readonly #first: First;
  readonly #connection: Connection;
  readonly #memory: Memory;

  constructor({ connection, memory }: Scope, first: First) {
    this.#first = first;
    this.#connection = connection;
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

  async #fetch(query: object, { signal }: RequestOptions): Promise<Page<Item>> {
    const { operation, path, options } = this.#first;
    const call = { operation, method: "GET", path, query: search(query), repeatable: true, signal } as const;
    const { value, headers } = await this.#connection.send(call, this.#memory);
    const cursor = NEXT_CURSOR.exec(headers.get("Link") ?? "")?.[1];
    const next = async (nextOptions: RequestOptions = options): Promise<Page<Item> | undefined> =>
      cursor === undefined ? undefined : this.#fetch({ ...query, cursor }, nextOptions);
    return { items: value as Item[], cursor, next };
  }
}

/** The address in `Link` may be that of another origin, which must not get the API key. The cursor is all that it adds. */
const NEXT_CURSOR = /[?&]cursor=([\w-]+)[^>]*>; rel="next"/;

/** @throws RangeError when a 64-bit filter holds no exact integer. */
function search(query: object): URLSearchParams {
  const parameters = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    for (const item of [value].flat()) {
      if (item !== undefined) parameters.append(name, isInt64Field(name) ? toDigits(item) : String(item));
    }
  }
  return parameters;
}

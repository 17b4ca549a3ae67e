import { cacheControl, type ReadOptions } from "./options.ts";
import { type Fields, fits } from "./fits.ts";
import { type Int64Input, isInt64Field, toDigits } from "./int64.ts";
import type { Scope } from "./requests.ts";
import type { operations } from "./schema.ts";

/** A page of a list. */
export interface Page<Item> {
  /** With `q` perhaps none, also when there is a next page. */
  readonly items: Item[];
  /** Where the next page starts, or undefined on the last page. A later `list({ cursor })` goes on from there. */
  readonly cursor: string | undefined;
  /** Fetches the next page. Resolves to undefined after the last page. */
  next(options?: ReadOptions): Promise<Page<Item> | undefined>;
}

/** Where the list is, and what an item has. */
interface ListScope extends Scope {
  path: string;
  fields: Fields;
}

interface Query {
  q?: string | undefined;
  id?: readonly Int64Input[] | undefined;
  limit?: number | undefined;
  cursor?: string | undefined;
  sort?: string | undefined;
  etags?: boolean | undefined;
}

/** As many ids as the service takes in one request. */
const MAX_IDS = 100;

/** A list, in the order of its query. Iterate over it for every item of every page, or fetch its pages. */
export class List<Item> implements AsyncIterable<Item> {
  readonly #scope: ListScope;
  readonly #operation: keyof operations;
  readonly #query: Query;
  readonly #options: ReadOptions;

  constructor(scope: ListScope, operation: keyof operations, query: Query, options: ReadOptions) {
    // Without a session, the pages remember for themselves: a page from an older replica than the one before ends early.
    this.#scope = { ...scope, memory: scope.memory ?? { bookmark: undefined } };
    this.#operation = operation;
    this.#query = query;
    this.#options = options;
  }

  /** Fetches the first page. */
  page(options: ReadOptions = this.#options): Promise<Page<Item>> {
    return this.#fetch(this.#query, options);
  }

  /**
   * Fetches every item.
   *
   * @param max the largest number of items, so that the memory has a bound.
   * @throws RangeError as soon as there are more.
   */
  async all(max: number): Promise<Item[]> {
    const items: Item[] = [];
    for await (const item of this) {
      if (!(items.push(item) <= max)) throw new RangeError(`The list has more than ${max} items.`);
    }
    return items;
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Item, void, undefined> {
    let page: Page<Item> | undefined = await this.page();
    while (page !== undefined) {
      yield* page.items;
      page = await page.next();
    }
  }

  /**
   * @param last the id that ends the page before.
   * @param passed the cursors of the pages since then, which were empty.
   */
  async #fetch(
    query: Query,
    options: ReadOptions,
    last?: bigint,
    passed: readonly (string | undefined)[] = [],
  ): Promise<Page<Item>> {
    const { connection, memory, path, fields } = this.#scope;
    const isItem = fits(query.etags ? { ...fields, version: "number" } : fields);
    const ids = idsOf(query);
    // Without an id, the service would return every item.
    if (ids?.length === 0) return { items: [], cursor: undefined, next: async () => undefined };
    const mayBeEmpty = query.q !== undefined && ids === undefined;
    const part = ids ? { ...query, id: ids.slice(0, MAX_IDS), cursor: undefined } : query;
    // All of them on one page, unless the caller wants less.
    const limit = query.limit ?? part.id?.length;
    const expects = (value: unknown, headers: Headers): boolean => {
      const cursor = nextCursor(headers);
      // A page that does not go on after the page before would make the iteration endless.
      return (
        Array.isArray(value) &&
        value.every((item, index) => isItem(item) && follows(item.id, value[index - 1]?.id ?? last, query)) &&
        (cursor === undefined ||
          (cursor !== "" && ![...passed, query.cursor].includes(cursor) && (value.length > 0 || mayBeEmpty)))
      );
    };
    const call = {
      ...options,
      operation: this.#operation,
      method: "GET",
      path,
      query: search({ ...part, limit, etags: undefined, include: query.etags ? "version" : undefined }),
      headers: { "Cache-Control": cacheControl(options) },
      expects,
    } as const;
    const { value, headers } = await connection.send(call, memory);
    const items = value as (Item & { id: bigint })[];
    if (query.etags) for (const item of items) tag(item);
    const end = items.at(-1)?.id;
    let cursor = nextCursor(headers);
    if (ids) {
      const done = cursor === undefined ? ids[MAX_IDS - 1] : end;
      cursor = done === undefined || done === ids.at(-1) ? undefined : `>${done}`;
    }
    const empty = items.length === 0 ? [...passed, query.cursor] : [];
    const next = async (nextOptions: ReadOptions = this.#options): Promise<Page<Item> | undefined> =>
      cursor === undefined ? undefined : this.#fetch({ ...query, cursor }, nextOptions, end ?? last, empty);
    return { items, cursor, next };
  }
}

/** Whether an id comes after the one before it, in the order of the list. */
function follows(id: bigint, before: bigint | undefined, { sort }: Query): boolean {
  return before === undefined || (sort === "-id" ? id < before : id > before);
}

/** Adds the entity tag, which is made of the version. */
function tag(item: { id: bigint; version?: number; etag?: string }): void {
  item.etag = `"${item.version}"`;
}

/**
 * The ids that a list of ids still asks for, in the order of the list. Undefined when the service can go on by itself.
 *
 * Too many ids for one request become several requests. The cursor between them is the last id that is done.
 *
 * @throws RangeError when an id is no exact integer.
 */
function idsOf(query: Query): bigint[] | undefined {
  const { id, cursor = "" } = query;
  const [, done] = /^>(-?\d+)$/.exec(cursor) ?? [];
  if (id === undefined || (id.length > 0 && id.length <= MAX_IDS && done === undefined)) return undefined;
  const before = done === undefined ? undefined : BigInt(done);
  return [...new Set(id.map((item) => BigInt(toDigits(item))))]
    .filter((item) => follows(item, before, query))
    .toSorted((a, b) => (follows(a, b, query) ? 1 : -1));
}

/** A link with its parameters (RFC 8288, section 3), and its relations in quotes or not. Both take linear time. */
const LINK = /<([^<>]*)>((?:[^<"]|"[^"]*")*)/g;
const REL = /;\s*rel\s*=\s*(?:"([^"]*)"|([^\s;,]*))/i;

/**
 * The cursor of the next page, or undefined on the last one. Empty when the link to the next page has none.
 *
 * The address in `Link` may be that of another origin, which must not get the API key. The cursor is all that it adds.
 */
export function nextCursor(headers: Headers): string | undefined {
  for (const [, address = "", parameters = ""] of (headers.get("Link") ?? "").matchAll(LINK)) {
    const [, quoted, token] = REL.exec(parameters) ?? [];
    if (/(?:^|\s)next(?:$|\s)/i.test(quoted ?? token ?? "")) {
      return new URLSearchParams(address.split("?")[1]).get("cursor") ?? "";
    }
  }
  return undefined;
}

/** @throws RangeError when a 64-bit filter holds no exact integer. */
export function search(query: object): URLSearchParams {
  const parameters = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    if (value === undefined) continue;
    for (const item of [value].flat()) parameters.append(name, isInt64Field(name) ? toDigits(item) : String(item));
  }
  return parameters;
}

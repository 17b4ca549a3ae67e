// A view of a list of the service: its rows, a page at a time, each with what can be done with it.
import { html, nothing, type TemplateResult } from "lit-html";
import { repeat } from "lit-html/directives/repeat.js";
import type { Page, PetStoreError } from "../../client/src/index.ts";
import { type Action, actionsOf, button, type Ended, type Run } from "./page.ts";

/** As many rows as a list has at first, and as its button adds. */
export const AT_ONCE = 50;
/** That somebody else changed the row first. */
const LATE = new Set<unknown>(["not_found", "precondition_failed", "order_shipped", "order_cancelled"]);

/** A part of the console, at `#<name>`. */
export interface View {
  title: string;
  isAllowed(): boolean;
  /** Fetches what the address asks for. The signal ends with the view. */
  open(signal: AbortSignal): Promise<void>;
  view(): unknown;
}

interface Table<Row> extends Pick<View, "title" | "isAllowed"> {
  /** The row 17 has the id `<kind>-17`. */
  kind: string;
  list(signal: AbortSignal): Promise<Partial<Page<Row>>>;
  fetch(id: bigint): Promise<Row | undefined>;
  /** Fetches what the service tells of rows elsewhere, before they are shown. */
  complete?(rows: Row[]): Promise<unknown>;
  /** What is above the rows, and what is said when there are none. */
  head(): unknown;
  empty(): unknown;
  nameOf(row: Row): string;
  viewOf(row: Row): TemplateResult;
  actions(row: Row): Action[];
  /** What is under a row and its buttons. What changes the row is passed to `acting`. */
  below?(row: Row, acting: (run: Run) => Run): unknown;
}

export const listOf = <Row extends { id: unknown }>(rows: Row[], view: (row: Row) => TemplateResult, empty: unknown) =>
  html`<ul class="rows">${repeat(rows, ({ id }) => id, view)}</ul>${rows.length === 0 ? html`<p>${empty}</p>` : nothing}`;

export function tableView<Row extends { id: bigint; etag: string }>(table: Table<Row>) {
  let rows: Row[] | undefined;
  let rest: Partial<Page<Row>> | undefined;
  /** The openings are numbered: what comes after a later one is shown is dropped. */
  let [openings, shown] = [0, 0];

  /** Shows a page, with those of the same opening. */
  async function show(opening: number, page: typeof rest): Promise<void> {
    // A page of a search may be empty and have a next one.
    while (page?.items?.length === 0 && page.next) page = await page.next();
    await table.complete?.(page?.items ?? []);
    if (opening < shown) return;
    const before = opening === shown ? (rows ?? []) : [];
    rows = [...new Map([...before, ...(page?.items ?? [])].map((row) => [row.id, row])).values()];
    [rest, shown] = [page, opening];
  }

  /** A row as it is now, with what belongs to it. Undefined when it is gone. */
  async function fetch(id: bigint): Promise<Row | undefined> {
    try {
      const row = await table.fetch(id);
      if (row) await table.complete?.([row]);
      return row;
    } catch (error) {
      if ((error as PetStoreError).code === "not_found") return undefined;
      throw error;
    }
  }

  /** Does something with a row, and shows the row as it is then. */
  async function act(id: bigint, name: string, run: Run): Promise<Ended> {
    let ended: Ended;
    try {
      ended = await run();
    } catch (error) {
      if (!LATE.has((error as PetStoreError).code)) throw error;
      const text = `Meanwhile, ${name} was changed by somebody else, or by your try before. You see it as it is now.`;
      ended = { text: `${text} Nothing more was changed.`, isError: true };
    }
    try {
      const row = await fetch(id);
      rows = rows?.flatMap((one) => (one.id === id ? (row ?? []) : one));
    } catch {
      // What was done is done. The service refuses a change of a row that is out of date.
    }
    if (typeof ended !== "object" || !ended.undo) return ended;
    const { undo } = ended;
    return { ...ended, undo: () => act(id, name, undo) };
  }

  function viewOf(row: Row): TemplateResult {
    const [at, name] = [`${table.kind}-${row.id}`, table.nameOf(row)];
    const actions = table.actions(row).map(({ run, ...action }): Action => ({
      ...action,
      run: (once, value) => act(row.id, name, () => run(once, value)),
    }));
    return html`<li id=${at} tabindex="-1">
      <div>${table.viewOf(row)}</div>
      ${actions.length === 0 ? nothing : actionsOf(at, name, actions, row.etag)} ${table.below?.(row, (run) => () => act(row.id, name, run))}
    </li>`;
  }

  const more = async () => show(shown, await rest?.next?.());
  return {
    ...table,
    fetch,
    open: async (signal: AbortSignal) => show(++openings, await table.list(signal)),
    view: () => html`
      ${table.head()} ${rows ? listOf(rows, viewOf, table.empty()) : nothing}
      ${rest?.cursor === undefined ? nothing : button("more", `Show ${AT_ONCE} more`, more)}
    `,
  };
}

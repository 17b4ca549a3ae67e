// A view of a list of the service: its rows, a page at a time, each with what can be done with it.
import { html, nothing, type TemplateResult } from "lit-html";
import { repeat } from "lit-html/directives/repeat.js";
import type { Page, PetStoreError } from "../../client/src/index.ts";
import { type Action, actionsOf, button, page } from "./page.ts";

/** As many rows as a list has at first, and as its button adds. */
export const AT_ONCE = 50;

/** A part of the console, at `#<name>`. */
export interface View {
  title: string;
  isAllowed(): boolean;
  /** Fetches what the address asks for. The signal ends when it is opened again, or another view is. */
  open(signal: AbortSignal): Promise<void>;
  view(): unknown;
  /** Whether it fetches anew what it shows, as long as nobody does anything. */
  isLive?(): boolean;
}

interface Table<Row> extends Omit<View, "open" | "view"> {
  /** The row 17 has the id `<kind>-17`. */
  kind: string;
  list(signal: AbortSignal): Promise<Partial<Page<Row>>>;
  fetch(id: bigint): Promise<Row | undefined>;
  /** Fetches what the service tells of rows elsewhere, before they are shown. */
  complete?(rows: Row[]): Promise<unknown>;
  /** What is above the rows, and what is said when there are none. */
  head?(): unknown;
  empty(): unknown;
  /** `<kind> 17` unless it is given. */
  nameOf?(row: Row): string;
  viewOf(row: Row): TemplateResult;
  actions(row: Row): Action[];
  adding?(): Action[];
  /** What is under a row and its buttons. */
  below?(row: Row): unknown;
}

export const listOf = <Row extends { id: unknown }>(rows: Row[], view: (row: Row) => TemplateResult, empty: unknown) =>
  html`<ul class="rows">${repeat(rows, ({ id }) => id, view)}</ul>${rows.length === 0 ? html`<p>${empty}</p>` : nothing}`;

/** Nothing, for what is not there. */
export function absent(error: PetStoreError): undefined {
  if (error.code !== "not_found") throw error;
}

export function tableView<Row extends { id: bigint; etag: string }>(table: Table<Row>) {
  let rows: Row[] | undefined;
  let rest: Partial<Page<Row>> | undefined;
  let opened: AbortSignal;

  /** Shows a page, with the rows before it. What comes after the view was opened again is dropped. */
  async function show(signal: AbortSignal, part: typeof rest, before = () => rows): Promise<void> {
    // A page of a search may be empty and have a next one.
    while (part?.items?.length === 0 && part.next) part = await part.next();
    await table.complete?.(part?.items ?? []);
    if (signal.aborted) return;
    rows = [...new Map([...(before() ?? []), ...(part?.items ?? [])].map((row) => [row.id, row])).values()];
    [rest, opened] = [part, signal];
  }

  async function refresh({ id }: Row): Promise<void> {
    const row = await table.fetch(id).catch(absent);
    await table.complete?.(row ? [row] : []);
    rows = rows?.flatMap((one) => (one.id === id ? (row ?? []) : one));
  }

  function viewOf(row: Row): TemplateResult {
    const [at, name] = [`${table.kind}-${row.id}`, table.nameOf?.(row) ?? `${table.kind} ${row.id}`];
    const actions = table.actions(row);
    return html`<li id=${at} tabindex="-1">
      <div>${table.viewOf(row)}</div>
      ${actions.length === 0 ? nothing : actionsOf(at, name, actions, () => refresh(row), row.etag)} ${table.below?.(row)}
    </li>`;
  }

  const more = async () => show(opened, await rest?.next?.());
  const adding = () => actionsOf("adding", "", table.adding?.() ?? [], page.reload);
  return {
    ...table,
    open: async (signal: AbortSignal) => show(signal, await table.list(signal), () => []),
    view: () => html`
      ${table.head?.()} ${table.adding && adding()} ${rows ? listOf(rows, viewOf, table.empty()) : nothing}
      ${rest?.cursor === undefined ? nothing : button("more", `Show ${AT_ONCE} more`, more)}
    `,
  };
}

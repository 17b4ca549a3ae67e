// A view of a list of the service: its rows, a page at a time, each with what can be done with it.
import { html, nothing, type TemplateResult } from "lit-html";
import { repeat } from "lit-html/directives/repeat.js";
import type { Page, PetStoreError } from "../../client/src/index.ts";
import { type Action, actionsOf, button, counted, isAllowed, page, update } from "./page.ts";

export const AT_ONCE = 50;
const isPhone = matchMedia("(max-width: 40rem)").matches;

/** A part of the console, at `#<name>`. */
export interface View {
  title: string;
  isAllowed(): boolean;
  /** Fetches what the address asks for. The signal ends when it is opened again, or another view is. */
  open(signal: AbortSignal): Promise<void>;
  view(): unknown;
  /** Whether it fetches anew what changed, as long as nobody does anything. */
  isLive?(): boolean;
}

interface Table<Row> extends Omit<View, "open" | "view"> {
  /** The row 17 has the id `<kind>-17`, and the name `<kind> 17` unless it has one. */
  kind: string;
  list(signal: AbortSignal): Promise<Partial<Page<Row>>>;
  /** Those that are there. Several are asked for only where rows can be chosen. */
  fetch(ids: bigint[]): Promise<Row[]>;
  /** Fetches what the service tells of rows elsewhere, before they are shown. */
  complete?(rows: Row[]): Promise<unknown>;
  /** What is above the rows, with the actions of the menu `menu`, and what is said when there are none. */
  head?(): unknown;
  menu?: string;
  above?(): Action[];
  empty(): unknown;
  viewOf(row: Row): TemplateResult;
  actions(row: Row): Action[];
  together?(rows: Row[]): Action[];
}

export const listOf = <Row extends { id: unknown }>(rows: Row[], view: (row: Row) => TemplateResult, empty: unknown) =>
  html`<ul class="rows">${repeat(rows, ({ id }) => id, view)}</ul>${rows.length === 0 ? html`<p>${empty}</p>` : nothing}`;
export const tableOf = (columns: string[], rows: unknown[][]): TemplateResult =>
  html`<table><thead><tr>${columns.map((name) => html`<th>${name}</th>`)}</tr></thead>
    <tbody>${rows.map((row) => html`<tr>${row.map((cell) => html`<td>${cell}</td>`)}</tr>`)}</tbody></table>`;

export function absent(error: PetStoreError): [] {
  if (error.code !== "not_found") throw error;
  return [];
}

export function tableView<Row extends { id: bigint; etag: string; name?: string }>(table: Table<Row>) {
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

  const refresh = (of: Row[]) => async () => {
    const ids = of.map(({ id }) => id);
    const found = await table.fetch(ids);
    await table.complete?.(found);
    rows = rows?.flatMap((row) => (ids.includes(row.id) ? (found.find(({ id }) => id === row.id) ?? []) : row));
  };

  const isChoosable = () => table.together?.([]).some(isAllowed);
  const isChosen = ({ id }: Row) => document.querySelector(`#choose-${id}:checked`) !== null;
  const chooseAll = ({ target: { checked } }: { target: HTMLInputElement }) => {
    for (const box of document.querySelectorAll(".rows [type=checkbox]")) Object.assign(box, { checked });
    update();
  };

  function viewOf(row: Row): TemplateResult {
    const [at, name] = [`${table.kind}-${row.id}`, row.name ?? `${table.kind} ${row.id}`];
    return html`<li id=${at} tabindex="-1">${isChoosable() ? html`<input type="checkbox" id="choose-${row.id}" aria-label="Choose ${name}" @change=${update} />` : nothing} <div>${table.viewOf(row)}</div>
      ${actionsOf(at, name, table.actions(row), refresh([row]), row.etag)}</li>`;
  }

  function viewOfAll(shown: Row[]) {
    const chosen = shown.filter(isChosen);
    const [above, name] = [table.above?.() ?? [], counted(chosen.length, table.kind)];
    const actions = chosen.length ? (table.together?.(chosen) ?? []) : [];
    // A question is about the rows that were chosen when it was asked.
    const at = ["chosen", ...chosen.map(({ id }) => id)].join("-");
    const together = actionsOf(at, `for ${name}`, actions, refresh(chosen));
    return html`
      ${above.some(isAllowed) ? html`<details class="menu" ?open=${!isPhone}><summary>${table.menu}</summary>${actionsOf("above", "", above, page.reload)}</details>` : nothing}
      ${isChoosable() && shown.length ? html`<div class="chosen" id=${at} tabindex="-1"><label><input type="checkbox" @change=${chooseAll} /> ${chosen.length ? `${name} chosen` : "Choose all"}</label> ${together}</div>` : nothing}
      ${listOf(shown, viewOf, table.empty())}`;
  }

  const more = async () => show(opened, await rest?.next?.());
  return {
    ...table,
    open: async (signal: AbortSignal) => show(signal, await table.list(signal), () => []),
    view: () => html`${table.head?.()} ${rows ? viewOfAll(rows) : nothing}
      ${rest?.cursor === undefined ? nothing : button("more", `Show ${AT_ONCE} more`, more)}`,
  };
}

// The animals and their categories: search, add, change, delete.
import { html, nothing, type TemplateResult } from "lit-html";
import { repeat } from "lit-html/directives/repeat.js";
import type { Animal, Category, Page, PetStatus, PetStoreError } from "../../client/src/index.ts";
import { importForm } from "./import.ts";
import { act, asked, asking, button, choice, field, focusOn, hashOf, type Notice, submit, type View } from "./page.ts";
import { current, may, once } from "./session.ts";

type Row = Animal & { etag: string };
type Values = Omit<Animal, "id">;

export const STATUSES: PetStatus[] = ["available", "pending", "sold"];
const AT_ONCE = 50;
/** As many categories as the page offers by name. */
const MAX_CATEGORIES = 500;
const STATUS_CHOICE = STATUSES.map((status): [string, string] => [status, status]);
const ALL: [string, string] = ["", "all"];

let filter = { q: "", status: "", category: "" };
let rows: Row[] | undefined;
let rest: Page<Row> | undefined;
let categories = new Map<bigint, Category>();
/** The row that has the form of a change. */
let changing: bigint | undefined;

export const animals: View = {
  title: "Animals",
  isAllowed: () => may("pets:read"),
  async open(query, signal) {
    filter = { q: query.get("q") ?? "", status: query.get("status") ?? "", category: query.get("category") ?? "" };
    await fetchCategories(signal);
    const { q } = filter;
    const [status, categoryId] = [(filter.status as PetStatus) || undefined, filter.category || undefined];
    const listOf = (by: { q?: string; id?: string[] }) =>
      current().store.pets.list({ ...by, status, categoryId, limit: AT_ONCE, sort: "-id", etags: true }, { signal });
    const number = /^#?(\d{1,18})$/.exec(q)?.[1];
    const numbered = number === undefined ? [] : (await listOf({ id: [number] }).page()).items;
    let page: Page<Row> | undefined = await listOf(q === "" ? {} : { q }).page();
    // A page of a search may be empty and have a next one.
    while (page?.items.length === 0) page = await page.next({ signal });
    [rows, rest] = [[...numbered, ...(page?.items ?? []).filter(({ id }) => id !== numbered[0]?.id)], page];
  },
  view: () => html`
    <form class="filters" role="search" @submit=${submit((value) => go({ q: value("q") }))}>
      ${field("Name or number", html`<input type="search" name="q" maxlength="255" .value=${filter.q} />`)}
      <button class="primary">Find</button>
      ${choice("Status", "status", [ALL, ...STATUS_CHOICE], filter.status, (status) => go({ status }))}
      ${choice("Category", "category", [ALL, ...named().map(({ id, name }): [string, string] => [String(id), name])], filter.category, (category) => go({ category }))}
    </form>
    ${may("pets:write") ? adding() : nothing}
    <datalist id="categories">${named().map(({ name }) => html`<option value=${name}></option>`)}</datalist>
    <ul class="rows">${repeat(rows ?? [], ({ id }) => id, rowOf)}</ul>
    ${rows?.length === 0 ? html`<p>${Object.values(filter).some(Boolean) ? "No animal is like this." : "The shop has no animals yet. Add the first one, or many from a CSV file."}</p>` : nothing}
    ${rest?.cursor === undefined ? nothing : button("more", `Show ${AT_ONCE} more`, more)}
  `,
};

const go = (change: Partial<typeof filter>) => (location.hash = hashOf("animals", { ...filter, ...change }));
const named = () => [...categories.values()];

export async function fetchCategories(signal?: AbortSignal): Promise<void> {
  const found: typeof categories = new Map();
  for await (const category of current().store.categories.list({ limit: 100 }, { signal })) {
    if (found.set(category.id, category).size === MAX_CATEGORIES) break;
  }
  categories = found;
}

/**
 * The category that somebody named, or gave the number of.
 *
 * @throws Error in words.
 */
export function categoryIdOf(text: string): bigint {
  const [first, second] = named().filter(({ name }) => name.toLowerCase() === text.toLowerCase());
  if (second) throw new Error(`Several categories are called ${text}. Give the number of one.`);
  const id = first?.id ?? (/^-?\d{1,19}$/.test(text) ? BigInt(text) : undefined);
  if (id === undefined || BigInt.asIntN(64, id) !== id) throw new Error(`There is no category ${text}. Add it first.`);
  return id;
}

async function more(): Promise<void> {
  const next = await rest?.next();
  [rows, rest] = [[...(rows ?? []), ...(next?.items ?? [])], next];
}

function rowOf(row: Row): TemplateResult {
  const { id, name, categoryId, status } = row;
  const at = `animal-${id}`;
  const begin = () => {
    changing = id;
    focusOn(`name-${id}`);
  };
  const question = `Delete ${name} (animal ${id})? This cannot be undone.`;
  const remove = async () => {
    await removeRow(row);
    return { text: `${name} is deleted.` };
  };
  const actions = () => [button(`change-${id}`, "Change", begin, name), asking(at, "Delete", name, question, remove)];
  return html`<li id=${at} tabindex="-1">
    <div>
      <strong>${name}</strong> <span class="state ${status}">${status}</span>
      <p>animal ${id} · ${categories.get(categoryId)?.name ?? `category ${categoryId}`} · <a href=${hashOf("feed", { animal: String(id) })} aria-label="History of ${name}">History</a></p>
    </div>
    ${!may("pets:write") ? nothing : changing === id ? form(row) : asked(at, actions())}
  </li>`;
}

const put = (animal: Animal, etag: string) =>
  (rows = (rows ?? []).map((row) => (row.id === animal.id ? { ...animal, etag } : row)));

async function removeRow({ id, etag: ifMatch }: Row): Promise<void> {
  try {
    await current().store.pets.delete(id, { ifMatch });
  } catch (error) {
    // A try before that got no answer, or somebody else, has deleted it.
    if ((error as PetStoreError).code !== "not_found") throw error;
  }
  rows = rows?.filter((one) => one.id !== id);
}

const valuesOf = (value: (name: string) => string): Values => ({
  name: value("name"),
  categoryId: categoryIdOf(value("category")),
  status: value("status") as PetStatus,
});

const inputs = (id: string, { name, categoryId, status }: Partial<Values> = {}) => html`
  ${field("Name", html`<input id="name-${id}" name="name" required maxlength="255" value=${name ?? ""} />`)}
  ${field("Category", html`<input name="category" list="categories" required maxlength="255" value=${categoryId === undefined ? "" : (categories.get(categoryId)?.name ?? String(categoryId))} />`, "its name or number")}
  ${choice("Status", "status", STATUS_CHOICE, status ?? "available")}
`;

function form(row: Row): TemplateResult {
  const end = () => {
    changing = undefined;
    focusOn(`animal-${row.id}`);
  };
  const undo = () => change(rows?.find(({ id }) => id === row.id) ?? row, row);
  const save = submit((value) =>
    act("save", async () => {
      const notice = await change(row, valuesOf(value));
      end();
      return { ...notice, undo };
    }),
  );
  return html`<form class="change" @submit=${save}>
    ${inputs(String(row.id), row)}<button class="primary">Save</button> ${button("end", "Back", end)}
  </form>`;
}

/** Changes the fields that differ, in the version that the person saw. */
async function change(row: Row, values: Values): Promise<Notice> {
  const names = (["name", "categoryId", "status"] as const).filter((name) => values[name] !== row[name]);
  const patch = Object.fromEntries(names.map((name) => [name, values[name]]));
  const { id, etag: ifMatch } = row;
  const { pets } = current().store;
  const intent = `change ${id} ${ifMatch} ${Object.values(patch).join("\n")}`;
  const { animal, etag } = await once(intent, (options) => pets.update(id, patch, { ...options, ifMatch }));
  put(animal, etag);
  return { text: `${animal.name} is changed.` };
}

async function add(values: Values, form: HTMLFormElement): Promise<Notice> {
  const { pets } = current().store;
  const intent = `add ${Object.values(values).join("\n")}`;
  const { animal, etag, replayed } = await once(intent, (options) => pets.create(values, options));
  const row = { ...animal, etag };
  rows = [row, ...(rows ?? []).filter(({ id }) => id !== animal.id)];
  form.reset();
  focusOn("name-new");
  const undo = async () => {
    await removeRow(row);
    return { text: `${animal.name} is deleted again.` };
  };
  return { text: `${animal.name} is animal ${animal.id}${replayed ? ". The try before had added it" : ""}.`, undo };
}

async function addCategory(name: string, form: HTMLFormElement): Promise<Notice> {
  const { categories: store } = current().store;
  const { category } = await once(`category ${name}`, (options) => store.create({ name }, options));
  categories.set(category.id, category);
  form.reset();
  return { text: `${category.name} is category ${category.id}.` };
}

const adding = () => html`
  <details><summary>Add an animal</summary>
    <form class="change" @submit=${submit((value, form) => act("add", () => add(valuesOf(value), form)))}>${inputs("new")}<button class="primary">Add</button></form>
  </details>
  <details><summary>Add many from a CSV file</summary>${importForm(() => animals.open(new URLSearchParams(), new AbortController().signal))}</details>
  <details><summary>Add a category</summary>
    <form class="change" @submit=${submit((value, form) => act("category", () => addCategory(value("name"), form)))}>${field("Name", html`<input name="name" required maxlength="255" />`)}<button class="primary">Add</button></form>
  </details>
`;

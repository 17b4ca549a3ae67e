// The animals and their categories: search, add, sell, change, delete.
import { html, nothing } from "lit-html";
import type { Animal, Category, NewPet } from "../../client/src/index.ts";
import { fold } from "../../src/pets/fold.ts";
import { mayReadFeed, names } from "./feed.ts";
import { addAll, importFields } from "./import.ts";
import { type Action, addressOf, asks, choice, counted, type Column, type Ended, type Fields } from "./page.ts";
import { asciiOf, filters, input, isAscii, refuse, sendAllowed } from "./page.ts";
import { type Attempt, may, type Once, once, store } from "./session.ts";
import { AT_ONCE, tableView } from "./table.ts";

type Row = Animal & { etag: string };
type Versioned = Animal & { version: number };
type Values = { [Name in keyof NewPet]-?: NewPet[Name] };
type Status = Animal["status"];
const STATUSES: Status[] = ["available", "pending", "sold"];
const RESERVED = "pending (reserved, mostly by an order)";
const STATUS_OPTIONS = STATUSES.map((status) => [status, status === "pending" ? RESERVED : status]);
const ALL = ["", "all"];
const scopes = ["pets:write"] as const;
const MAX_CATEGORIES = 500;
let categories: Category[] = [];
/** By the text that the search compares. */
let folded = new Map<string, Category[]>();
/** Why the last change of several animals left some out, by their ids. */
const refused = new Map<bigint, string>();

export const animals = tableView<Row & Versioned>({
  title: "Animals",
  kind: "animal",
  isAllowed: () => may("pets:read"),
  async list(signal) {
    await fetchCategories(signal);
    refused.clear();
    const [q = "", status, categoryId] = ["q", "status", "category"].map((name) => asks(name) || undefined);
    const by = { status: status as Status, categoryId, etags: true, limit: AT_ONCE, sort: "-id" } as const;
    const listOf = (which: object) => store.pets.list({ ...by, ...which }, { signal }).page();
    const found = await listOf(/^#?\d{1,18}$/.test(q) ? { id: [q.replace("#", "")] } : { q: q || undefined });
    if (isAscii(q)) found.items.unshift(...(await listOf({ externalId: q })).items);
    return found;
  },
  fetch: (ids) => store.pets.list({ id: ids, etags: true }).all(ids.length),
  head() {
    const ids = categories.map(({ id, name }) => [`${id}`, name]);
    const by = [choice("Status", "status", [ALL, ...STATUS_OPTIONS]), choice("Category", "category", [ALL, ...ids])];
    return html`${filters("Name or number", "q", by)}
      <datalist id="categories">${categories.map(({ name }) => html`<option value=${name}></option>`)}</datalist>
      ${asks("status") === "available" && may("orders:place") ? html`<p>To sell an animal, press <b>Sell</b> beside it.</p>` : nothing}`;
  },
  empty: () => (["q", "status", "category"].some(asks) ? "Nothing found." : "There are no animals. Add one."),
  viewOf: ({ id, name, categoryId, status, externalId }) => html`
    <strong>${name}</strong> <span class="state ${status}">${status}</span>
    <p>animal ${id}${externalId === undefined ? nothing : html` · <b>${externalId}</b>`} · ${nameOfCategory(categoryId)}${mayReadFeed() ? html` · <a href=${addressOf("feed", { animal: id })} aria-label="History of ${name}">History</a>` : nothing}</p>
    ${refused.has(id) ? html`<p class="error">Not changed: ${refused.get(id)}</p>` : nothing}`,
  actions(row) {
    const { id, name, categoryId, status } = row;
    const lost = `Its name, category (${nameOfCategory(categoryId)}) and status (${status}) are lost`;
    const question = `Delete ${name} (animal ${id})? ${lost}. This cannot be undone.`;
    const save: Action["run"] = (once, fields) => once((attempt) => changeTo(row, animalOf(fields), attempt));
    const sale = () => [input("Customer number (optional)", "customer"), input("Reference (optional)", "reference")];
    const sold: Action["run"] = (once, fields) => sell(row, once, fields);
    const selling: Action = { label: "Sell", scopes: ["orders:place"], isPrimary: true, fields: sale, run: sold };
    return [
      ...(status === "available" ? [selling] : []),
      { label: "Change", scopes, fields: () => fieldsOf(row), run: save },
      { label: "Delete", scopes, question, run: () => remove(row) },
    ];
  },
  together(rows) {
    const status = () => choice("Status", "status", [["", "as it is"], ...STATUS_OPTIONS], "");
    const category = () => input("Category (empty: as it is)", "category", { list: "categories" });
    const run: Action["run"] = (_, fields) => changeAll(rows, fields);
    return [{ label: "Change", scopes, fields: () => [status(), category()], run }];
  },
  menu: "Add animals or a category",
  above: () => [
    { label: "Add an animal", scopes, isPrimary: true, fields: () => fieldsOf({}), run: add },
    { label: "Add many from a CSV file", scopes, fields: importFields, run: addAll },
    { label: "Add a category", scopes, fields: () => nameField({}), run: addCategory },
  ],
});

const nameField = ({ name }: Partial<Animal>) => input("Name", "name", { value: name, isRequired: true });
/** The input of each column of a file. Here, in the values and in a change, a field of the service that is missing does not compile. */
const INPUTS: Record<Column, (of: Partial<Animal>) => unknown> = {
  name: nameField,
  category({ categoryId }) {
    const value = categoryId === undefined ? "" : (categoryOf(categoryId) ?? categoryId);
    return input("Category, by name or number", "category", { value, isRequired: true, list: "categories" });
  },
  status: ({ status = "available" }) => choice("Status", "status", STATUS_OPTIONS, status),
  externalId: ({ externalId }) => input("Number in another system (optional)", "externalId", { value: externalId }),
};
const fieldsOf = (of: Partial<Animal>) => Object.values(INPUTS).map((inputOf) => inputOf(of));
export const COLUMNS = Object.keys(INPUTS) as Column[];
/** @throws Error in words for what somebody entered, in a form or in a file. */
export const animalOf = (text: Record<Column, string>): Values => ({
  name: nameOf(text.name),
  categoryId: categoryIdOf(text.category),
  status: statusOf(text.status),
  externalId: asciiOf("number in another system", text.externalId),
});

/** Changes the version that the person saw. An order of the animal refuses a status, also the same. */
async function changeTo(row: Row, values: NewPet, attempt?: Attempt): Promise<Ended> {
  const { name, categoryId, status, externalId = null } = values;
  const changed = status === row.status ? undefined : status;
  const patch = { name, categoryId, status: changed, externalId } satisfies { [Name in keyof NewPet]-?: unknown };
  const { animal, etag } = await store.pets.update(row.id, patch, { ...attempt, ifMatch: row.etag });
  return { text: `${animal.name} is changed.`, undo: () => changeTo({ ...animal, etag }, row) };
}

const remove = ({ id, name, etag: ifMatch }: Row): Promise<Ended> =>
  store.pets.delete(id, { ifMatch }).then(() => ({ text: `${name} is deleted.` }));

/** Changes the versions that the person saw of all animals but those for which the service refuses it: the list says why. */
async function changeAll(rows: Versioned[], { status, category }: Fields): Promise<Ended> {
  const patch = { status: statusOf(status), categoryId: category ? categoryIdOf(category) : undefined };
  if (!status && !category) refuse("Choose a status or a category.");
  refused.clear();
  const send = (left: Versioned[]) => {
    const changes = left.map(({ id, version }) => ({ id, version, ...patch }));
    const name = left.map(({ id, version }) => `${id} ${version}`).join();
    return once(`${status} ${category} ${name}`, (attempt) => store.pets.updateMany(changes, attempt));
  };
  await sendAllowed(rows, send, ({ id }, why) => refused.set(id, why));
  const text = `${counted(rows.length - refused.size, "animal")} changed.`;
  if (refused.size === 0) return { text };
  return { text: `${text} ${counted(refused.size, "animal")} not: the list says why.`, isError: true };
}

async function sell({ id: petId, name }: Row, once: Once, fields: Fields): Promise<Ended> {
  const [reference, customer] = [fields.reference || undefined, asciiOf("customer number", fields.customer)];
  const { order } = await once((attempt) => store.orders.place({ petId, reference, customer }, attempt));
  return { text: `Order ${order.id} is placed for ${name}. Ship it under Orders.` };
}

const add: Action["run"] = async (once, fields) => {
  const { animal, etag, replayed } = await once((attempt) => store.pets.create(animalOf(fields), attempt));
  const text = `${animal.name} is animal ${animal.id}${replayed ? ". The try before had added it" : ""}.`;
  return { text, undo: () => remove({ ...animal, etag }) };
};

const addCategory: Action["run"] = async (once, { name }) => {
  const { category } = await once((attempt) => store.categories.create({ name }, attempt));
  return { text: `${category.name} is category ${category.id}.` };
};

export async function fetchCategories(signal?: AbortSignal): Promise<void> {
  const named: Category[] = [];
  for await (const category of store.categories.list({ limit: 100 }, { signal }))
    if (named.push(category) === MAX_CATEGORIES) break;
  for (const { id, name } of named) names.set(`category ${id}`, name);
  [categories, folded] = [named, Map.groupBy(named, ({ name }) => fold(name))];
}

const categoryOf = (id: bigint): string | undefined => categories.find((category) => category.id === id)?.name;
const nameOfCategory = (id: bigint): string => categoryOf(id) ?? `category ${id}, name unknown`;
const isTooLong = (name: string): boolean => [...name].length > 255;
const nameOf = (text: string): string =>
  isTooLong(text) ? refuse("The name has more than 255 characters.") : text || refuse("The name is missing.");
/** Nothing is what the service takes for it: a new animal is available, and an old one stays. */
function statusOf(text: string): Status | undefined {
  const status = STATUSES.find((known) => known === text.toLowerCase());
  return text === "" ? undefined : (status ?? refuse(`The status ${text} is none of ${STATUSES.join(", ")}.`));
}

/** The number of a category. Its exact name goes before names that the search takes for the same. */
function categoryIdOf(text: string): bigint {
  if (text === "") refuse("The category is missing.");
  // Folding a longer text takes long.
  const same = isTooLong(text) ? [] : (folded.get(fold(text)) ?? []);
  const found = same.find(({ name }) => name === text) ?? same[0];
  if (same.length > 1 && found?.name !== text) refuse(`Several categories are called ${text}. Give the number of one.`);
  const id = found?.id ?? (/^-?\d{1,19}$/.test(text) ? BigInt(text) : undefined);
  return id !== undefined && BigInt.asIntN(64, id) === id ? id : refuse(`There is no category ${text}. Add it first.`);
}

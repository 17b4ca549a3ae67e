// The animals and their categories: search, add, change, delete.
import { html, nothing } from "lit-html";
import type { Animal, Category, NewPet, PetPatch, PetStatus } from "../../client/src/index.ts";
import { fold } from "../../src/pets/fold.ts";
import { mayReadFeed } from "./feed.ts";
import { addAll, importFields } from "./import.ts";
import { type Action, addressOf, asks, choice, type Ended, field, type Fields, filters } from "./page.ts";
import { type Attempt, may, type Once, store } from "./session.ts";
import { AT_ONCE, tableView } from "./table.ts";

type Row = Animal & { etag: string };
type Name = Exclude<keyof Animal, "id">;
type Values = Pick<Animal, Name>;

const STATUSES: PetStatus[] = ["available", "pending", "sold"];
const STATUS_OPTIONS = STATUSES.map((status) => [status, status]);
/** As many categories as the page knows by name. */
const MAX_CATEGORIES = 500;

let categories: Category[] = [];
/** By the text that the search compares. */
let folded = new Map<string, Category[]>();

export const animals = tableView<Row>({
  title: "Animals",
  kind: "animal",
  isAllowed: () => may("pets:read"),
  async list(signal) {
    await fetchCategories(signal);
    const [q, status, categoryId] = ["q", "status", "category"].map((name) => asks(name) || undefined);
    const number = /^#?(\d{1,18})$/.exec(q ?? "")?.[1];
    const by = { ...(number ? { id: [number] } : { q }), status: status as PetStatus | undefined, categoryId };
    return store.pets.list({ ...by, etags: true, limit: AT_ONCE, sort: "-id" }, { signal }).page();
  },
  fetch: async (id) => (await store.pets.list({ id: [id], etags: true }).page()).items[0],
  head: () => html`
    ${filters("Name or number", "q", [
      ["Status", "status", STATUS_OPTIONS],
      ["Category", "category", categories.map(({ id, name }) => [String(id), name])],
    ])}
    <datalist id="categories">${categories.map(({ name }) => html`<option value=${name}></option>`)}</datalist>
  `,
  empty() {
    if (["q", "status", "category"].some(asks)) return "No animal is like this.";
    return "The shop has no animals yet. Add the first one, or many from a CSV file.";
  },
  nameOf: ({ name }) => name,
  viewOf: ({ id, name, categoryId, status }) => html`
    <strong>${name}</strong> <span class="state ${status}">${status}</span>
    <p>animal ${id} · ${categoryOf(categoryId) ?? `category ${categoryId}`}${mayReadFeed() ? html` · <a href=${addressOf("feed", { animal: id })} aria-label="History of ${name}">History</a>` : nothing}</p>`,
  actions(row) {
    if (!may("pets:write")) return [];
    const question = `Delete ${row.name} (animal ${row.id})? This cannot be undone.`;
    const save: Action["run"] = (once, fields) => once((attempt) => changeTo(row, animalOf(textOf(fields)), attempt));
    return [
      { label: "Change", fields: () => fieldsOf(row), run: save },
      { label: "Delete", question, run: () => remove(row) },
    ];
  },
  adding() {
    if (!may("pets:write")) return [];
    return [
      { label: "Add an animal", isPrimary: true, fields: () => fieldsOf({}), run: add },
      { label: "Add many from a CSV file", fields: importFields, run: addAll },
      { label: "Add a category", fields: () => nameField(), run: addCategory },
    ];
  },
});

const nameField = (name = "") => field("Name", html`<input name="name" required maxlength="255" value=${name} />`);

const categoryField = ({ categoryId }: Partial<Values>) => {
  const category = categoryId === undefined ? "" : (categoryOf(categoryId) ?? categoryId);
  const input = html`<input name="category" list="categories" required maxlength="255" value=${category} />`;
  return field("Category, by name or number", input);
};

/**
 * The fields of an animal: the column of a file, the input of the form that has its name, and the value of what somebody entered there.
 * `read` throws an Error in words. A field of the service that is not here does not compile.
 */
const FIELDS: {
  [Field in Name]-?: {
    column: string;
    input: (animal: Partial<Values>) => unknown;
    read: (text: string) => NewPet[Field];
  };
} = {
  name: {
    column: "name",
    input: ({ name }) => nameField(name),
    read(name) {
      if (name === "") throw new Error("The name is missing.");
      if (isTooLong(name)) throw new Error("The name has more than 255 characters.");
      return name;
    },
  },
  categoryId: { column: "category", input: categoryField, read: categoryIdOf },
  status: {
    column: "status",
    input: ({ status }) => choice("Status", "status", STATUS_OPTIONS, status),
    read(status) {
      const known = STATUSES.find((known) => known === (status.toLowerCase() || "available"));
      if (!known) throw new Error(`The status ${status} is none of ${STATUSES.join(", ")}.`);
      return known;
    },
  },
  externalId: {
    column: "externalId",
    input: ({ externalId = "" }) =>
      field("Number in another system", html`<input name="externalId" maxlength="255" value=${externalId} />`),
    read(externalId) {
      if (!/^[!-~]{0,255}$/.test(externalId))
        throw new Error("The number in another system has blanks, or other characters than ASCII.");
      return externalId || undefined;
    },
  },
};
export const COLUMNS = Object.values(FIELDS).map(({ column }) => column);

const fieldsOf = (animal: Partial<Values>) => Object.values(FIELDS).map(({ input }) => input(animal));
const textOf = (fields: Fields) => (column: string) => (fields as { [name: string]: string })[column] ?? "";

/** @throws Error in words for what somebody entered, in a form or in a file. */
export const animalOf = (textOf: (column: string) => string): NewPet =>
  Object.fromEntries(Object.entries(FIELDS).map(([name, { column, read }]) => [name, read(textOf(column))])) as NewPet;

/** Changes the version that the person saw. */
async function changeTo(row: Row, values: NewPet, attempt?: Attempt): Promise<Ended> {
  const options = { ...attempt, ifMatch: row.etag };
  // A field without a value is removed.
  const patch = Object.fromEntries(Object.keys(FIELDS).map((name) => [name, values[name as Name] ?? null])) as PetPatch;
  const { animal, etag } = await store.pets.update(row.id, patch, options);
  return { text: `${animal.name} is changed.`, undo: () => changeTo({ ...animal, etag }, row) };
}

const remove = ({ id, name, etag: ifMatch }: Row): Promise<Ended> =>
  store.pets.delete(id, { ifMatch }).then(() => ({ text: `${name} is deleted.` }));

async function add(once: Once, fields: Fields): Promise<Ended> {
  const { animal, etag, replayed } = await once((attempt) => store.pets.create(animalOf(textOf(fields)), attempt));
  const undo = () => remove({ ...animal, etag });
  return { text: `${animal.name} is animal ${animal.id}${replayed ? ". The try before had added it" : ""}.`, undo };
}

async function addCategory(once: Once, { name }: Fields): Promise<Ended> {
  const { category } = await once((attempt) => store.categories.create({ name }, attempt));
  return { text: `${category.name} is category ${category.id}.` };
}

export async function fetchCategories(signal?: AbortSignal): Promise<void> {
  const named: Category[] = [];
  for await (const category of store.categories.list({ limit: 100 }, { signal }))
    if (named.push(category) === MAX_CATEGORIES) break;
  categories = named;
  folded = Map.groupBy(named, ({ name }) => fold(name));
}

const categoryOf = (id: bigint): string | undefined => categories.find((category) => category.id === id)?.name;

const isTooLong = (name: string): boolean => [...name].length > 255;

/**
 * The number of a category. Its exact name goes before names that the search takes for the same.
 *
 * @throws Error in words for a text that is neither the name of one category nor a number.
 */
function categoryIdOf(text: string): bigint {
  if (text === "") throw new Error("The category is missing.");
  // Folding a longer text takes long.
  const same = isTooLong(text) ? [] : (folded.get(fold(text)) ?? []);
  const found = same.find(({ name }) => name === text) ?? same[0];
  if (same.length > 1 && found?.name !== text)
    throw new Error(`Several categories are called ${text}. Give the number of one.`);
  const id = found?.id ?? (/^-?\d{1,19}$/.test(text) ? BigInt(text) : undefined);
  if (id === undefined || BigInt.asIntN(64, id) !== id) throw new Error(`There is no category ${text}. Add it first.`);
  return id;
}

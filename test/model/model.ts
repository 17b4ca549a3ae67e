// The whole service, as one would write it if nothing ever failed and nobody else were there.

export const STATUSES = ["available", "pending", "sold"] as const;
type Status = (typeof STATUSES)[number];

export interface NewPet {
  name: string;
  /** Decimal digits: the model does not round either. */
  categoryId: string;
  status?: Status | undefined;
}
export interface NewCategory {
  name: string;
  description?: string | undefined;
}
export type PetPatch = Partial<NewPet>;
export interface CategoryPatch {
  name?: string | undefined;
  /** Null removes it. */
  description?: string | null | undefined;
}

interface Versioned {
  id: number;
  version: number;
}
interface Pet extends NewPet, Versioned {
  status: Status;
}
interface Category extends Versioned {
  name: string;
  description: string | null;
}

/** What a client sees of a response. */
export interface Answer {
  status: number;
  /** The body of a success; the code of a failure. */
  body: string;
  etag?: string;
  location?: string;
  replayed?: true;
}

/** The versions that `If-Match` names; undefined without the header. */
export type IfMatch = number[] | undefined;

export class Model {
  pets = new Map<number, Pet>();
  categories = new Map<number, Category>();
  #lastPet = 0;
  #lastCategory = 0;
  /** By API key and idempotency key. */
  #created = new Map<string, { request: string; answer: Answer }>();

  createPet(given: NewPet, key?: string): Answer {
    const { name, categoryId, status = "available" } = given;
    return this.#once(key, JSON.stringify(["pet", name, categoryId, status]), () => {
      const pet = { id: ++this.#lastPet, name, categoryId, status, version: 1 };
      this.pets.set(pet.id, pet);
      return { status: 201, body: writePet(pet), etag: '"1"', location: `/v1/pets/${pet.id}` };
    });
  }

  createCategory({ name, description }: NewCategory, key?: string): Answer {
    return this.#once(key, JSON.stringify(["category", name, description]), () => {
      if (this.#isTaken(name)) return failure(409, "category_exists");
      const category = { id: ++this.#lastCategory, name, description: description ?? null, version: 1 };
      this.categories.set(category.id, category);
      return { status: 201, body: writeCategory(category), etag: '"1"', location: `/v1/categories/${category.id}` };
    });
  }

  patchPet(id: number, patch: PetPatch, versions: IfMatch): Answer {
    const pet = this.pets.get(id);
    if (pet === undefined) return failure(404, "not_found");
    return change(pet, patch, versions, writePet);
  }

  patchCategory(id: number, patch: CategoryPatch, versions: IfMatch): Answer {
    const category = this.categories.get(id);
    if (category === undefined) return failure(404, "not_found");
    if (patch.name !== undefined && this.#isTaken(patch.name, id)) return failure(409, "category_exists");
    return change(category, patch, versions, writeCategory);
  }

  deletePet(id: number, versions: IfMatch): Answer {
    return remove(this.pets, id, versions);
  }

  deleteCategory(id: number, versions: IfMatch): Answer {
    const isInUse = [...this.pets.values()].some(({ categoryId }) => categoryId === String(id));
    if (this.categories.has(id) && isInUse) return failure(409, "category_in_use");
    return remove(this.categories, id, versions);
  }

  getPet(id: number): Answer {
    const pet = this.pets.get(id);
    return pet === undefined
      ? failure(404, "not_found")
      : { status: 200, body: writePet(pet), etag: `"${pet.version}"` };
  }

  /** Every animal that the filters let through. */
  listPets(filter: {
    status?: Status | undefined;
    categoryId?: string | undefined;
    ids?: number[] | undefined;
  }): string[] {
    return [...this.pets.values()]
      .filter(({ status }) => filter.status === undefined || status === filter.status)
      .filter(({ categoryId }) => filter.categoryId === undefined || categoryId === filter.categoryId)
      .filter(({ id }) => filter.ids === undefined || filter.ids.includes(id))
      .map(writePet);
  }

  listCategories(): string[] {
    return [...this.categories.values()].map(writeCategory);
  }

  #isTaken(name: string, by?: number): boolean {
    return [...this.categories.values()].some((category) => category.name === name && category.id !== by);
  }

  #once(key: string | undefined, request: string, create: () => Answer): Answer {
    const known = key === undefined ? undefined : this.#created.get(key);
    if (known !== undefined) {
      return known.request === request ? { ...known.answer, replayed: true } : failure(422, "idempotency_key_reused");
    }
    const answer = create();
    if (key !== undefined && answer.status === 201) this.#created.set(key, { request, answer });
    return answer;
  }
}

function change<Row extends Versioned>(
  row: Row,
  patch: object,
  versions: IfMatch,
  write: (row: Row) => string,
): Answer {
  const fields = Object.entries(patch).filter(([, value]) => value !== undefined);
  const isAsAsked = fields.every(([name, value]) => (row as Record<string, unknown>)[name] === value);
  const isRepeated = fields.length > 0 && isAsAsked && versions?.includes(row.version - 1);
  if (versions !== undefined && !versions.includes(row.version) && !isRepeated)
    return failure(412, "precondition_failed");
  if (!isAsAsked) Object.assign(row, Object.fromEntries(fields), { version: row.version + 1 });
  return { status: 200, body: write(row), etag: `"${row.version}"` };
}

function remove<Row extends Versioned>(rows: Map<number, Row>, id: number, versions: IfMatch): Answer {
  const row = rows.get(id);
  if (row === undefined) return failure(404, "not_found");
  if (versions !== undefined && !versions.includes(row.version)) return failure(412, "precondition_failed");
  rows.delete(id);
  return { status: 204, body: "" };
}

export function failure(status: number, code: string): Answer {
  return { status, body: code };
}

function writePet({ id, name, categoryId, status }: Pet): string {
  return `{"id":${id},"name":${JSON.stringify(name)},"categoryId":${categoryId},"status":"${status}"}`;
}

function writeCategory({ id, name, description }: Category): string {
  const more = description === null ? "" : `,"description":${JSON.stringify(description)}`;
  return `{"id":${id},"name":${JSON.stringify(name)}${more}}`;
}

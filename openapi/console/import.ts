// Many animals from a CSV file (RFC 4180): what is refused first, then the progress.
import { html, nothing } from "lit-html";
import { type NewPet, type PetStatus, PetStoreError } from "../../client/src/index.ts";
import { categoryIdOf, fetchCategories, STATUSES } from "./animals.ts";
import { act, type Ended, field, page, update } from "./page.ts";
import { isUnanswered, once, store } from "./session.ts";

/** A file: what can be added, and what not, with its row as spreadsheets count. */
interface Import {
  name: string;
  animals: NewPet[];
  refused: { row: number; reason: string }[];
}

const MAX_CHARACTERS = 255;
const MAX_BYTES = 20 * 2 ** 20;
const [SHOWN, MAX_SHOWN] = [5, 100];
/** A large file reaches the rate limit, which passes within a minute. */
const RETRY = { longestRetryAfter: 60_000, totalTime: 600_000 };

let file: Import | undefined;
let created: number | undefined;

// An import that ends halfway would have to begin with a new key.
addEventListener("beforeunload", (event) => created !== undefined && event.preventDefault());

export function importFields(): unknown {
  const choose = ({ target }: Event) => act("read", () => read((target as HTMLInputElement).files?.[0]));
  const input = html`<input type="file" name="file" accept=".csv,text/csv" @change=${choose} ?disabled=${created !== undefined} />`;
  const hint = html`Its first row is <code>name,category,status</code>. Without a status, an animal is available.`;
  return [field("CSV file", input, hint), file ? preview(file) : nothing];
}

const counted = (count: number, of: string) => `${count} ${of}${count === 1 ? "" : "s"}`;

function preview({ name, animals, refused }: Import): unknown {
  const first = animals.slice(0, SHOWN).map((animal) => animal.name);
  const reasons = refused.slice(0, MAX_SHOWN).map(({ row, reason }) => html`<li>Row ${row}: ${reason}</li>`);
  return html`
    <p>${name}: <b>${counted(animals.length, "animal")}</b> can be added: ${first.join(", ")}${animals.length > SHOWN ? " …" : ""}</p>
    <p><b>${counted(refused.length, "row")}</b> cannot be added.</p>
    <ul class="refused" tabindex="0" aria-label="Refused rows" ?hidden=${refused.length === 0}>${reasons}</ul>
    ${created === undefined ? nothing : html`<progress aria-label="Added" max=${animals.length} value=${created}></progress>`}
  `;
}

async function read(chosen: File | undefined): Promise<Ended> {
  file = undefined;
  if (chosen === undefined) return;
  if (chosen.size > MAX_BYTES) throw new Error("The file has more than 20 MB. Divide it.");
  const text = await chosen.text();
  if (text.includes("\uFFFD")) throw new Error("Save the file as UTF-8 (in Excel: CSV UTF-8).");
  const [titles = [], ...rows] = parse(text);
  const columns = titles.map((title) => title.toLowerCase().replace(/^category[ _]?id$/, "category"));
  if (!columns.includes("name") || !columns.includes("category"))
    throw new Error("The first row has to name the columns: name and category, and perhaps status.");
  await fetchCategories();
  const found: Import = { name: chosen.name, animals: [], refused: [] };
  for (const [index, row] of rows.entries()) {
    if (row.every((cell) => cell === "")) continue;
    try {
      found.animals.push(animalOf((column) => row[columns.indexOf(column)] ?? ""));
    } catch (error) {
      found.refused.push({ row: index + 2, reason: (error as Error).message });
    }
  }
  file = found;
  return `${counted(file.animals.length, "animal")} can be added, and ${counted(file.refused.length, "row")} cannot.`;
}

/** @throws Error in words. */
function animalOf(cell: (column: string) => string): NewPet {
  const [name, category, status] = [cell("name"), cell("category"), cell("status").toLowerCase() || "available"];
  if (name === "") throw new Error("The name is missing.");
  if ([...name].length > MAX_CHARACTERS) throw new Error(`The name has more than ${MAX_CHARACTERS} characters.`);
  if (!STATUSES.includes(status as PetStatus))
    throw new Error(`The status ${status} is none of ${STATUSES.join(", ")}.`);
  if (category === "") throw new Error("The category is missing.");
  return { name, categoryId: categoryIdOf(category), status: status as PetStatus };
}

/** The rows of a file. Spreadsheets of some countries separate by semicolons. Takes linear time. */
function parse(csv: string): string[][] {
  const separator = /^.*?([,;\t])/.exec(csv)?.[1] ?? ",";
  const cell = new RegExp(`(?:"([^"]*(?:""[^"]*)*)"|(?!")([^${separator}\\r\\n]*))(${separator}|\\r?\\n|\\r|$)`, "y");
  const rows: string[][] = [[]];
  while (cell.lastIndex < csv.length) {
    const [, quoted, plain = "", end] = cell.exec(csv) ?? [];
    if (end === undefined) throw new Error(`Row ${rows.length} has a quotation mark in the wrong place.`);
    rows.at(-1)?.push((quoted?.replaceAll('""', '"') ?? plain).trim());
    if (end !== separator) rows.push([]);
  }
  return rows;
}

/** Adds every animal once: without an answer, another try of the same animals goes on where this one ended. */
export async function addAll(): Promise<Ended> {
  if (!file?.animals.length) throw new Error("Choose a file with animals first.");
  const { animals } = file;
  // Screen readers say the notice: four times are enough.
  const quarters = (count = 0) => Math.floor((4 * count) / animals.length);
  const onProgress = (progress: { created: number }) => {
    if (quarters(progress.created) > quarters(created))
      page.notice = { text: `Added ${progress.created} of ${counted(animals.length, "animal")}.` };
    ({ created } = progress);
    update();
  };
  created = 0;
  try {
    const change = `import ${await digestOf(animals.map((animal) => Object.values(animal).map(String)))}`;
    await once(change, (attempt) => store.pets.createMany(animals, { ...attempt, retry: RETRY, onProgress }));
    file = undefined;
    return `Added ${counted(animals.length, "animal")}.`;
  } catch (error) {
    // The service refused a batch for good: what is left begins with it.
    if (file && error instanceof PetStoreError && !isUnanswered(error))
      file.animals = animals.slice(error.created ?? 0);
    throw error;
  } finally {
    created = undefined;
  }
}

async function digestOf(content: unknown): Promise<string> {
  const bytes = new TextEncoder().encode(JSON.stringify(content));
  return String(new Uint8Array(await crypto.subtle.digest("SHA-256", bytes)));
}

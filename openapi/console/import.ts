// Many animals from a CSV file (RFC 4180): what is refused first, then the progress.
import { html, nothing } from "lit-html";
import { type NewPet, PetStoreError } from "../../client/src/index.ts";
import { animalOf, COLUMNS, fetchCategories } from "./animals.ts";
import { act, type Ended, field, update } from "./page.ts";
import { isUnanswered, once, store } from "./session.ts";

const MAX_BYTES = 20 * 2 ** 20;
const [SHOWN, MAX_SHOWN] = [5, 100];
/** A large file reaches the rate limit, which passes within a minute. */
const RETRY = { longestRetryAfter: 60_000, totalTime: 600_000 };

/** What can be added, and what not. */
let file: { name: string; digest: string; animals: NewPet[]; refused: string[] } | undefined;
/** How many of them, while they are added. */
let created: number | undefined;

// With the tab, the key of the attempt would be lost.
addEventListener("beforeunload", (event) => created !== undefined && event.preventDefault());

const counted = (count: number, of: string) => `${count} ${of}${count === 1 ? "" : "s"}`;

export function importFields(): unknown {
  const choose = ({ target }: Event) => act("read", () => read((target as HTMLInputElement).files?.[0]));
  const input = html`<input type="file" name="file" accept=".csv,text/csv" @change=${choose} ?disabled=${created !== undefined} />`;
  const hint = html`Its first row is <code>${COLUMNS.join()}</code>. Without a status, an animal is available.`;
  return [field("CSV file", input, hint), file ? preview(file) : nothing];
}

function preview({ name, animals, refused }: NonNullable<typeof file>): unknown {
  const first = animals.slice(0, SHOWN).map((animal) => animal.name);
  return html`
    <p>${name}: <b>${counted(animals.length, "animal")}</b> can be added: ${first.join(", ")}${animals.length > SHOWN ? " …" : ""}</p>
    <p><b>${counted(refused.length, "row")}</b> cannot be added.</p>
    <ul class="refused" tabindex="0" aria-label="Refused rows" ?hidden=${refused.length === 0}>${refused.slice(0, MAX_SHOWN).map((reason) => html`<li>${reason}</li>`)}</ul>
    ${created === undefined ? nothing : html`<progress aria-label="Added" max=${animals.length} value=${created}></progress>`}
  `;
}

async function read(chosen: File | undefined): Promise<Ended> {
  file = undefined;
  if (chosen === undefined) return;
  if (chosen.size > MAX_BYTES) throw new Error("The file has more than 20 MB. Divide it.");
  const bytes = await chosen.arrayBuffer();
  const text = new TextDecoder().decode(bytes);
  if (text.includes("\uFFFD")) throw new Error("Save the file as UTF-8 (in Excel: CSV UTF-8).");
  const [titles = [], ...rows] = parse(text);
  const columns = titles.map((title) => title.toLowerCase().replace(/^category[ _]?id$/, "category"));
  if (!columns.includes("name") || !columns.includes("category"))
    throw new Error("The first row has to name the columns: name and category, and perhaps status.");
  await fetchCategories();
  const [animals, refused]: [NewPet[], string[]] = [[], []];
  for (const [index, row] of rows.entries()) {
    if (row.every((cell) => cell === "")) continue;
    try {
      animals.push(animalOf((column) => row[columns.indexOf(column)] ?? ""));
    } catch (error) {
      refused.push(`Row ${index + 2}: ${(error as Error).message}`);
    }
  }
  const digest = String(new Uint8Array(await crypto.subtle.digest("SHA-256", bytes)));
  file = { name: chosen.name, digest, animals, refused };
  return { text: `${counted(animals.length, "animal")} can be added, and ${counted(refused.length, "row")} cannot.` };
}

/**
 * The rows of a file, as spreadsheets count them. Those of some countries separate by semicolons. A first line `sep=;` is Excel's, which
 * does not show it. Blanks may stand beside quotation marks. Takes linear time.
 */
function parse(csv: string): string[][] {
  const [line = "", named] = /^"?sep=([^\w" \r\n])"?(?:\r?\n|\r)/i.exec(csv) ?? [];
  const separator = named ?? /^.*?([,;\t])/.exec(csv)?.[1] ?? ",";
  const cell = new RegExp(
    `(?: *"([^"]*(?:""[^"]*)*)" *|(?! *")([^\\${separator}\\r\\n]*))(\\${separator}|\\r?\\n|\\r|$)`,
    "y",
  );
  cell.lastIndex = line.length;
  const rows: string[][] = [[]];
  while (cell.lastIndex < csv.length) {
    const [, quoted, plain = "", end] = cell.exec(csv) ?? [];
    if (end === undefined) throw new Error(`Row ${rows.length} has a quotation mark in the wrong place.`);
    rows.at(-1)?.push((quoted?.replaceAll('""', '"') ?? plain).trim());
    if (end !== separator) rows.push([]);
  }
  return rows;
}

/** Adds every animal once: without an answer, another try of the same file goes on where this one ended. */
export async function addAll(): Promise<Ended> {
  if (!file?.animals.length) throw new Error("Choose a file with animals first.");
  const { animals, digest } = file;
  const onProgress = (progress: { created: number }) => {
    ({ created } = progress);
    update();
  };
  created = 0;
  try {
    const change = `import ${digest} ${animals.length}`;
    await once(change, (attempt) => store.pets.createMany(animals, { ...attempt, retry: RETRY, onProgress }));
    file = undefined;
    return { text: `Added ${counted(animals.length, "animal")}.` };
  } catch (error) {
    // The service refused a batch for good: what is left begins with it.
    if (file && error instanceof PetStoreError && !isUnanswered(error))
      file.animals = animals.slice(error.created ?? 0);
    throw error;
  } finally {
    created = undefined;
  }
}

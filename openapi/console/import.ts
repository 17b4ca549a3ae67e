// Many animals from a CSV file (RFC 4180): what is refused first, then the progress.
import { html, nothing } from "lit-html";
import { type ImportedPet, type NewPet, PetStoreError, type UpsertedAnimal } from "../../client/src/index.ts";
import { animalOf, COLUMNS, fetchCategories } from "./animals.ts";
import { act, counted, type Ended, type Fields, refuse, sendAllowed, time, update } from "./page.ts";
import { isUnanswered, once, store } from "./session.ts";

const [MAX_BYTES, MAX_ROWS] = [20 * 2 ** 20, 100_000];
const [SHOWN, MAX_SHOWN] = [5, 100];
/** With the digest of a file: when this browser began to add it. */
const IMPORTED = "petstore-import-";
/** A large file reaches the rate limit, which passes within a minute. */
const RETRY = { longestRetryAfter: 60_000, totalTime: 600_000 };
/** What can be added, and what not. */
let file: Awaited<ReturnType<typeof check>> | undefined;
let created: number | undefined;
// With the tab, the key of the attempt would be lost.
addEventListener("beforeunload", (event) => created !== undefined && event.preventDefault());

export function importFields(): unknown {
  const choose = ({ target }: { target: HTMLInputElement }) => {
    const chosen = target.files?.[0];
    return act(`read ${crypto.randomUUID()}`, async () => {
      file = undefined;
      const read = chosen && (await check(chosen));
      // Somebody chose another one meanwhile.
      if (chosen !== target.files?.[0]) return undefined;
      file = read;
      return file && { text: `${counted(file.animals.length, "animal")} to add, ${file.refused.length} bad.` };
    });
  };
  // A browser tells nothing of a file that is chosen again, although it may have been changed.
  const forget = ({ target }: { target: HTMLInputElement }) => (target.value = "");
  return html`<label>CSV file<input type="file" name="file" accept=".csv,text/csv" @click=${forget} @change=${choose} ?disabled=${created !== undefined} />
    <small>Its first row is <code>${COLUMNS.join()}</code>. Those after category may be missing. With externalId, animals that are there are changed. Without, they are added again.</small></label>${file ? preview(file) : nothing}`;
}

function preview({ name, before, isKeyed, animals, refused, ignored }: NonNullable<typeof file>): unknown {
  const first = animals.slice(0, SHOWN).map((animal) => animal.name);
  return html`<p>${name}: <b>${counted(animals.length, "animal")}</b> can be added${isKeyed ? " or changed" : ""}: ${first.join(", ")}${animals.length > SHOWN ? " …" : ""}</p>
    ${before ? html`<p class="error">This browser added this file before, or a part of it, ${time(before)}. Those animals would be there twice. A column externalId prevents that.</p>` : nothing}
    ${ignored.length > 0 ? html`<p>Ignored columns: <b>${ignored.join(", ")}</b></p>` : nothing}
    <p><b>${counted(refused.length, "row")}</b> cannot be added.</p> <ul class="refused" tabindex="0" aria-label="Refused rows" ?hidden=${refused.length === 0}>${refused.slice(0, MAX_SHOWN).map((reason) => html`<li>${reason}</li>`)}</ul>
    ${created === undefined ? nothing : html`<progress aria-label="Added" max=${animals.length} value=${created}></progress>`}`;
}

/** Reads what can be added, why some rows cannot, and which columns nobody reads. */
async function check(chosen: File) {
  if (chosen.size > MAX_BYTES) refuse("The file has more than 20 MB. Divide it.");
  const bytes = await chosen.arrayBuffer();
  const text = new TextDecoder().decode(bytes);
  if (text.includes("\uFFFD")) refuse("Save the file as UTF-8 (in Excel: CSV UTF-8).");
  await fetchCategories();
  const rows = rowsOf(text);
  const titles = rows.next().value ?? [];
  const plain = titles.map((title) => title.toLowerCase().replaceAll(/(?<=category)[ _]?id$|[ _]/g, ""));
  const places = COLUMNS.map((column) => [column, plain.indexOf(column.toLowerCase())] as const);
  const [isNamed, isSorted, , isKeyed] = places.map(([, place]) => place >= 0);
  if (!isNamed || !isSorted) refuse("The first row has to name the columns name and category.");
  const [animals, refused, ids]: [NewPet[], string[], Set<unknown>] = [[], [], new Set()];
  let number = 1;
  for (const row of rows) {
    if (++number > MAX_ROWS) refuse(`The file has more than ${counted(MAX_ROWS, "row")}. Divide it.`);
    if (row.every((cell) => cell === "")) continue;
    try {
      const cells = Object.fromEntries(places.map(([column, place]) => [column, row[place] ?? ""]));
      const animal = animalOf(cells as Fields);
      if (isKeyed && (!animal.externalId || ids.size === ids.add(animal.externalId).size))
        refuse("The externalId is missing, or of an earlier row.");
      animals.push(animal);
    } catch (error) {
      refused.push(`Row ${number}: ${(error as Error).message}`);
    }
  }
  const digest = String(new Uint8Array(await crypto.subtle.digest("SHA-256", bytes)));
  const ignored = titles.filter((title, index) => title && !places.some(([, place]) => place === index));
  // An attempt of this tab goes on, and adds nothing twice.
  const isOpen = isKeyed || sessionStorage.getItem(changeOf(digest, animals)) !== null;
  const before = isOpen ? null : localStorage.getItem(IMPORTED + digest);
  return { name: chosen.name, digest, before, isKeyed, animals, refused, ignored };
}

/** The rows of a file, as spreadsheets write them: Excel does not show its first line `sep=;`. Takes linear time, and no stack. */
function* rowsOf(csv: string): Generator<string[], undefined> {
  const [line = "", named] = /^"?sep=([^\w" \r\n])"?(?:\r?\n|\r)/i.exec(csv) ?? [];
  const separator = named ?? /^.*?([,;\t])/.exec(csv)?.[1] ?? ",";
  const delimiter = new RegExp(`\\${separator}|\\r?\\n|\\r|$`, "g");
  let row: string[] = [];
  for (let [at, number] = [line.length, 1]; at < csv.length;) {
    let start = at;
    while (csv[start] === " ") start += 1;
    const isQuoted = csv[start] === '"';
    let close = isQuoted ? csv.indexOf('"', start + 1) : at - 1;
    // A mark that is doubled is one of the text.
    while (close > at && csv[close + 1] === '"') close = csv.indexOf('"', close + 2);
    delimiter.lastIndex = close + 1;
    const { 0: end, index } = delimiter.exec(csv) as RegExpExecArray;
    const [quoted, plain] = [csv.slice(start + 1, close), csv.slice(close + 1, index).trim()];
    if (isQuoted && (close < 0 || plain)) refuse(`Row ${number} has a quotation mark in the wrong place.`);
    row.push(isQuoted ? quoted.replaceAll('""', '"').trim() : plain);
    at = index + end.length;
    if (end === separator) continue;
    yield row;
    [row, number] = [[], number + 1];
  }
  yield row;
}

export async function addAll(): Promise<Ended> {
  if (!file?.animals.length) return refuse("Choose a file with animals first.");
  created = 0;
  return (file.isKeyed ? upsertAll(file) : createAll(file)).finally(() => (created = undefined));
}

/** Makes animals what the file says. It may run again. */
async function upsertAll({ animals }: NonNullable<typeof file>): Promise<Ended> {
  const [results, refused]: [Record<string, number>, string[]] = [{}, []];
  const onProgress = ({ animals }: { animals: UpsertedAnimal[] }) => {
    for (const { result } of animals) results[result] = (results[result] ?? 0) + 1;
    created = (created ?? 0) + animals.length;
    update();
  };
  const send = (left: NewPet[]) => store.pets.upsertMany(left as ImportedPet[], { retry: RETRY, onProgress });
  await sendAllowed(animals, send, ({ externalId }, why) => refused.push(`${externalId}: ${why}`));
  file = undefined;
  const { created: added = 0, updated = 0, unchanged = 0 } = results;
  const done = added + updated ? `${counted(added, "animal")} added, ${updated} changed` : "Nothing changed";
  const text = `${done}, ${unchanged} as before, ${refused.length} refused. ${refused.slice(0, MAX_SHOWN).join(" ")}`;
  return { text, isError: refused.length > 0 };
}

const changeOf = (digest: string, animals: NewPet[]) => `import ${digest} ${animals.length}`;

/** Adds every animal once: without an answer, another try of the same file goes on where this one ended. */
async function createAll(of: NonNullable<typeof file>): Promise<Ended> {
  const { animals, digest } = of;
  const onProgress = (progress: { created: number }) => (({ created } = progress), update());
  const earlier = localStorage.getItem(IMPORTED + digest);
  // First, because the tab may end at any moment.
  localStorage.setItem(IMPORTED + digest, new Date().toISOString());
  try {
    const change = changeOf(digest, animals);
    await once(change, (attempt) => store.pets.createMany(animals, { ...attempt, retry: RETRY, onProgress }));
    file = undefined;
    return { text: `Added ${counted(animals.length, "animal")}.` };
  } catch (error) {
    // The service refused a batch for good: what is left begins with it.
    if (error instanceof PetStoreError && !isUnanswered(error)) {
      of.animals = animals.slice(error.created ?? 0);
      if (error.code === "idempotency_key_expired") of.before = earlier;
      if (!error.created && earlier === null) localStorage.removeItem(IMPORTED + digest);
    }
    throw error;
  }
}

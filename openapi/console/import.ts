// Many animals from a file: what is refused first, then the progress.
import { html, nothing, type TemplateResult } from "lit-html";
import { PetStoreError } from "../../client/src/index.ts";
import { categoryIdOf, fetchCategories, STATUSES } from "./animals.ts";
import { type Import, readAnimals } from "./csv.ts";
import { act, asked, asking, field, type Notice, page, update } from "./page.ts";
import { current, isUnanswered, once } from "./session.ts";

const [SHOWN, MAX_SHOWN] = [5, 100];
const MAX_BYTES = 20 * 2 ** 20;
/** A large file reaches the rate limit, which passes within a minute. */
const RETRY = { longestRetryAfter: 60_000, totalTime: 600_000 };

let file: (Import & { name: string }) | undefined;
let created: number | undefined;

// An import that ends halfway would have to begin with a new key.
addEventListener("beforeunload", (event) => created !== undefined && event.preventDefault());

/** @param onEnd is called when animals were added. */
export function importForm(onEnd: () => Promise<void>): TemplateResult {
  const choose = ({ target }: Event) => act("read", () => read((target as HTMLInputElement).files?.[0]));
  return html`<div class="change" id="import" tabindex="-1">
    ${field("CSV file", html`<input type="file" accept=".csv,text/csv" @change=${choose} ?disabled=${created !== undefined} />`, html`Its first row is <code>name,category,status</code>. Without a status, an animal is available.`)}
    ${file === undefined ? nothing : preview(file, onEnd)}
  </div>`;
}

async function read(chosen: File | undefined): Promise<void> {
  file = undefined;
  if (chosen === undefined) return;
  if (chosen.size > MAX_BYTES) throw new Error("The file has more than 20 MB. Divide it.");
  await fetchCategories();
  const text = await chosen.text();
  file = { ...readAnimals(text, STATUSES, categoryIdOf), name: chosen.name };
  page.notice = { text: `${file.animals.length} animals can be added, and ${file.refused.length} rows are refused.` };
}

function preview({ animals, refused, name }: NonNullable<typeof file>, onEnd: () => Promise<void>): TemplateResult {
  const count = `${animals.length.toLocaleString("en")} animals`;
  const first = animals.slice(0, SHOWN).map((animal) => animal.name);
  const question = `Add ${count} from ${name}, without the ${refused.length} rows that are refused?`;
  return html`
    <p><b>${count}</b> can be added: ${first.join(", ")}${animals.length > SHOWN ? " …" : ""}</p>
    <p><b>${refused.length} rows</b> are refused, and not added.</p>
    <ul class="refused" tabindex="0" aria-label="Refused rows" ?hidden=${refused.length === 0}>${refused.slice(0, MAX_SHOWN).map(({ row, reason }) => html`<li>Row ${row}: ${reason}</li>`)}</ul>
    ${created === undefined ? nothing : html`<label>${created.toLocaleString("en")} of ${count} are added <progress max=${animals.length} value=${created}></progress></label>`}
    ${
      animals.length === 0
        ? nothing
        : asked(
            "import",
            asking("import", "Add", count, question, () => add(onEnd), "primary"),
          )
    }
  `;
}

/** Adds every animal once: without an answer, another try of the same animals goes on where this one ended. */
async function add(onEnd: () => Promise<void>): Promise<Notice> {
  const { animals } = file as NonNullable<typeof file>;
  const digest = await digestOf(JSON.stringify(animals.map((animal) => Object.values(animal).map(String))));
  const onProgress = (progress: { created: number }) => {
    // Screen readers hear each quarter.
    const quarter = (count: number) => Math.floor((4 * count) / animals.length);
    const isNew = quarter(progress.created) > quarter(created ?? 0);
    if (isNew) page.notice = { text: `${progress.created} of ${animals.length} animals are added.` };
    created = progress.created;
    update();
  };
  created = 0;
  try {
    await once(`import ${digest}`, (options) =>
      current().store.pets.createMany(animals, { ...options, retry: RETRY, onProgress }),
    );
    file = undefined;
    return { text: `${animals.length} animals are added.` };
  } catch (error) {
    // The service refused a batch for good: what is left begins with it.
    if (file && error instanceof PetStoreError && !isUnanswered(error))
      file.animals = animals.slice(error.created ?? 0);
    throw error;
  } finally {
    created = undefined;
    await onEnd();
  }
}

async function digestOf(text: string): Promise<string> {
  const hash = new Uint8Array(await crypto.subtle.digest("SHA-256", new TextEncoder().encode(text)));
  return [...hash].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}

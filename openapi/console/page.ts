// What the views share: the address, how something ended, buttons with what they ask, fields and times. Everything that is done runs here.
import { html, nothing, render, type TemplateResult } from "lit-html";
import type { PetStoreError } from "../../client/src/index.ts";
import { API_KEY, isUnanswered, type Once, once } from "./session.ts";

/** How something ended. `undo` takes it back. */
export type Ended = { text: string; isError?: boolean; requestId?: string | undefined; undo?: Run } | undefined | void;
export type Run = () => Promise<Ended>;
/** What a person entered. Each form has some of them. */
export type Fields = Record<"key" | "name" | "category" | "status" | "since", string>;

/** What somebody can do with an element. The question is asked and the fields are filled in first. */
export interface Action {
  label: string;
  isPrimary?: boolean;
  question?: string;
  fields?: () => unknown;
  run: (once: Once, fields: Fields) => Promise<Ended>;
}

export const page = {
  /** The name of the view, and what the address asks of it. */
  name: "",
  query: new URLSearchParams(),
  notice: undefined as Ended,
  /** `at` is the id of the element that asks, and `from` that of the button that was pressed. */
  question: undefined as (Action & Record<"at" | "from" | "of" | "version", string>) | undefined,
  /** Whether the service refused the key after somebody signed in. */
  isLocked: false,
  isRetrying: false,
};

export const asks = (name: string): string => page.query.get(name) ?? "";

/** The address of a view, without what is empty. */
export function addressOf(name: string, query: object): string {
  const search = new URLSearchParams(Object.entries(query).filter(([, value]) => value !== ""));
  return search.size === 0 ? `#${name}` : `#${name}?${search}`;
}

const root = document.querySelector("#console") as HTMLElement;
const busy = new Set<string>();
let isQueued = false;
let draw: () => TemplateResult;
/** Fetches what the view shows. */
export let reload: () => Promise<void>;

export function start(frame: typeof draw, open: typeof reload): void {
  [draw, reload] = [frame, open];
  update();
}

/** Draws the page soon. Without an animation frame, which a tab in the background does not get. */
export function update(): void {
  if (!isQueued) queueMicrotask(() => ((isQueued = false), render(draw(), root)));
  isQueued = true;
}

/** Moves the focus after the page is drawn, to the first of the elements that is there. */
export function focusOn(...selectors: string[]): void {
  const find = (selector: string) => document.querySelector<HTMLElement>(selector) ?? [];
  update();
  queueMicrotask(() => selectors.flatMap(find)[0]?.focus());
}

/** Runs what a person asked for, once at a time, and tells how it ended. */
export async function act(name: string, run: Run): Promise<void> {
  if (busy.has(name)) return;
  busy.add(name);
  page.notice = undefined;
  update();
  try {
    page.notice = (await run()) ?? page.notice;
  } catch (error) {
    fail(error);
  }
  busy.delete(name);
  update();
}

/** Says in words what failed. */
export function fail(error: unknown): void {
  if (error instanceof DOMException && error.name === "AbortError") return;
  const { message, code, status, requestId, retryAfter = 60, idempotencyKey } = error as PetStoreError;
  let text = message;
  if (code === "insufficient_scope") text = "Your key may not do this.";
  else if (code === "rate_limited") text = `Too many requests. Wait ${Math.ceil(retryAfter)} seconds.`;
  else if (code === "network" || code === "timeout") text = "The service did not answer.";
  if (isUnanswered(error)) text += ` Try again${idempotencyKey ? ": nothing happens twice" : ""}.`;
  if (status === 401) {
    sessionStorage.removeItem(API_KEY);
    page.isLocked = true;
    text = "The service does not accept the key. Sign in, and go on where you were.";
    focusOn("#key");
  }
  page.notice = { text, isError: true, requestId };
  update();
}

/** A button, of something that screen readers hear too. While it is at work, it keeps the focus. */
export const button = (id: string, label: string, run: Run, of = "", isPrimary = false) =>
  html`<button type="button" id=${id} class=${isPrimary ? "primary" : ""} aria-label="${label} ${of}" aria-disabled=${busy.has(id)} @click=${() => act(id, run)}>${label}</button>`;

/** Runs what a form asks for, without leaving the page. */
export const submit = (name: string, run: (fields: Fields) => Promise<Ended>) => (event: SubmitEvent) => {
  event.preventDefault();
  const entries = [...new FormData(event.target as HTMLFormElement)];
  const texts = entries.map(([name, value]) => [name, typeof value === "string" ? value.trim() : value.name]);
  void act(name, () => run(Object.fromEntries(texts)));
};

/** The buttons of the element `at`, or what one of them asks. */
export function actionsOf(at: string, of: string, actions: Action[], version = ""): TemplateResult {
  if (page.question?.at === at) return questionOf(page.question);
  const buttons = actions.map((action) => {
    const from = `${at}-${action.label.toLowerCase().replaceAll(" ", "-")}`;
    const ask = async () => {
      page.question = { ...action, at, from, of, version };
      focusOn(".question :is(input, select, #confirm)");
    };
    const run = () => action.run((change) => once(`${from} ${version}`, change), {} as Fields);
    return button(from, action.label, action.question || action.fields ? ask : run, of, action.isPrimary);
  });
  return html`<div class="actions">${buttons}</div>`;
}

/** A question that failed stays. */
function questionOf({ at, from, of, version, label, question, run, ...form }: NonNullable<typeof page.question>) {
  const close = async () => {
    page.question = undefined;
    focusOn(`#${from}`, `#${at}`, "#title");
  };
  const send = submit(from, async (fields) => {
    const ended = await run((change) => once(`${from} ${version} ${JSON.stringify(fields)}`, change), fields);
    if (page.question?.from === from) await close();
    return ended;
  });
  return html`<form class="question" aria-label="${label} ${of}" @submit=${send} @keydown=${({ key }: KeyboardEvent) => key === "Escape" && close()}>
    ${question ? html`<p>${question}</p>` : nothing} ${form.fields?.()}
    <button class="primary" id="confirm" aria-disabled=${busy.has(from)}>${label} ${of}</button> ${button("back", "Back", close)}
  </form>`;
}

export const field = (label: string, input: TemplateResult, hint: unknown = ""): TemplateResult =>
  html`<label><span>${label}</span>${input}<small>${hint}</small></label>`;

/** Values, each with its text. */
export type Options = [value: string, text: string][];

export function choice(label: string, name: string, options: Options, chosen = "", onChange: unknown = nothing) {
  const optionOf = ([value, text]: Options[0]) =>
    html`<option value=${value} ?selected=${value === chosen}>${text}</option>`;
  return field(label, html`<select name=${name} @change=${onChange}>${options.map(optionOf)}</select>`);
}

/** A search and choices. The address keeps what they ask for. */
export function filters(label: string, name: string, choices: [label: string, name: string, options: Options][] = []) {
  const find = submit("find", async (fields) => {
    location.hash = addressOf(page.name, { ...Object.fromEntries(page.query), ...fields });
  });
  const choose = ({ target }: { target: HTMLSelectElement }) => target.form?.requestSubmit();
  return html`<form class="fields" role="search" @submit=${find}>
    ${field(label, html`<input type="search" name=${name} maxlength="255" .value=${asks(name)} />`)}
    <button class="primary">Find</button>
    ${choices.map(([label, name, options]) => choice(label, name, [["", "all"], ...options], asks(name), choose))}
  </form>`;
}

const MINUTES = { day: 1_440, hour: 60 };
const relative = new Intl.RelativeTimeFormat("en", { numeric: "auto" });
const exact = new Intl.DateTimeFormat("en-GB", { dateStyle: "medium", timeStyle: "medium" });

/** How long ago a time was, or how long it takes. A pointer shows the exact time. */
export function time(timestamp: string): TemplateResult {
  const minutes = (Date.parse(timestamp) - Date.now()) / 60_000;
  const [unit, size] = Object.entries(MINUTES).find(([, size]) => Math.abs(minutes) >= size) ?? ["minute", 1];
  const text = relative.format(Math.trunc(minutes / size), unit as "day");
  return html`<time datetime=${timestamp} title=${exact.format(new Date(timestamp))}>${text}</time>`;
}

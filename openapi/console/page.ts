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
  /** What is shown, and what fetches it again. */
  draw: () => html``,
  reload: async () => {},
  /** The name of the view, and what the address asks of it. */
  name: "",
  query: new URLSearchParams(),
  notice: undefined as Ended,
  /** `at` is the id of the element that asks. */
  question: undefined as { at: string; form: () => TemplateResult } | undefined,
  isRetrying: false,
};

export const asks = (name: string): string => page.query.get(name) ?? "";

export const addressOf = (name: string, query: object): string =>
  `#${name}?${new URLSearchParams(Object.entries(query))}`;

/** That somebody else changed it first. */
const LATE = new Set<unknown>(["not_found", "precondition_failed", "order_shipped", "order_cancelled"]);
const root = document.querySelector("#console") as HTMLElement;
const busy = new Set<string>();

export const update = () => void render(page.draw(), root);

/** Moves the focus to the first of the elements that is there. */
export function focusOn(...selectors: string[]): void {
  update();
  const find = (selector: string) => document.querySelector<HTMLElement>(selector) ?? [];
  selectors.flatMap(find)[0]?.focus();
}

/** Runs what a person asked for, once at a time, and tells how it ended. */
export async function act(name: string, run: Run): Promise<void> {
  if (busy.has(name)) return;
  busy.add(name);
  page.notice = undefined;
  update();
  page.notice = (await run().catch(fail)) ?? page.notice;
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

/** Runs an action on something, and shows how it is then. */
async function change(run: Run, of: string, show: () => Promise<void>): Promise<Ended> {
  const ended = await run().catch((error: PetStoreError): Ended => {
    if (!LATE.has(error.code)) throw error;
    const text = `Meanwhile, ${of || "it"} was changed by somebody else, or by your try before. You see it as it is now.`;
    return { text: `${text} Nothing more was changed.`, isError: true };
  });
  // What was done is done, and its notice comes last. The service refuses a change of a version that is out of date.
  await show().catch(fail);
  const undo = ended && ended.undo;
  return undo ? { ...ended, undo: () => change(undo, of, show) } : ended;
}

/** The buttons of the element `at`, or what one of them asks. A question that failed stays. */
export function actionsOf(at: string, of: string, actions: Action[], show: () => Promise<void>, version = "") {
  if (page.question?.at === at) return page.question.form();
  const buttons = actions.map(({ label, isPrimary, question, fields, run }) => {
    const from = `${at}-${label.toLowerCase().replaceAll(" ", "-")}`;
    const key = (entered: Fields) => `${from} ${version} ${JSON.stringify(entered)}`;
    const attempt = (entered = {} as Fields) =>
      change(() => run((send) => once(key(entered), send), entered), of, show);
    const close = async () => {
      page.question = undefined;
      focusOn(`#${from}`, `#${at}`, "#title");
    };
    const send = submit(from, async (entered) => {
      const ended = await attempt(entered);
      if (page.question?.form === form) await close();
      return ended;
    });
    const escape = ({ key }: KeyboardEvent) => key === "Escape" && close();
    const form = () => html`<form class="question" aria-label="${label} ${of}" @submit=${send} @keydown=${escape}>
      ${question ? html`<p>${question}</p>` : nothing} ${fields?.()}
      <button class="primary" id="confirm" aria-disabled=${busy.has(from)}>${label} ${of}</button> ${button("back", "Back", close)}
    </form>`;
    const ask = async () => {
      page.question = { at, form };
      focusOn(".question :is(input, select, #confirm)");
    };
    return button(from, label, question || fields ? ask : () => attempt(), of, isPrimary);
  });
  return html`<div class="actions">${buttons}</div>`;
}

export const field = (label: string, input: TemplateResult, hint: unknown = ""): TemplateResult =>
  html`<label><span>${label}</span>${input}<small>${hint}</small></label>`;

/** @param options values, each with its text. */
export function choice(label: string, name: string, options: string[][], chosen = ""): TemplateResult {
  const optionOf = ([value, text]: string[]) =>
    html`<option value=${value} ?selected=${value === chosen}>${text}</option>`;
  return field(label, html`<select name=${name}>${options.map(optionOf)}</select>`);
}

/** A search and choices. The address keeps what they ask for. */
export function filters(label: string, name: string, choices: [string, string, string[][]][] = []) {
  const find = submit("find", async (fields) => {
    location.hash = addressOf(page.name, { ...Object.fromEntries(page.query), ...fields });
  });
  const choose = ({ target }: { target: unknown }) =>
    target instanceof HTMLSelectElement && target.form?.requestSubmit();
  return html`<form class="fields" role="search" @submit=${find} @change=${choose}>
    ${field(label, html`<input type="search" name=${name} maxlength="255" .value=${asks(name)} />`)}
    <button class="primary">Find</button>
    ${choices.map(([label, name, options]) => choice(label, name, [["", "all"], ...options], asks(name)))}
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

// What the views share: the address, how something ended, buttons with what they ask, fields and times. Everything that is done runs here.
import { html, nothing, render, type TemplateResult } from "lit-html";
import type { NewPet, PetStoreError } from "../../client/src/index.ts";
import type { Scope } from "../../src/auth/scopes.ts";
import { API_KEY, isUnanswered, may, type Once, once } from "./session.ts";

/** How something ended. `undo` takes it back. */
export type Ended = { text: string; isError?: boolean; requestId?: string | undefined; undo?: Run } | undefined | void;
export type Run = () => Promise<Ended>;
/** What a person entered, in a form that has some of them, or in a file. */
export type Fields = Record<Column | "key" | "since" | "customer" | "reference", string>;
/** Those of `NewPet`, but a person may name the category. */
export type Column = Exclude<keyof NewPet, "categoryId"> | "category";

/** What somebody with the scopes can do with an element. The question is asked and the fields are filled in first. */
export interface Action {
  label: string;
  scopes?: readonly Scope[];
  isPrimary?: boolean;
  question?: string;
  fields?: () => unknown;
  run: (once: Once, fields: Fields) => Promise<Ended>;
}

/** What is shown, what fetches it again, the name of the view, what the address asks, and what the printer gets. */
export const page = {
  draw: () => html``,
  reload: async () => {},
  name: "",
  query: new URLSearchParams(),
  notice: undefined as Ended,
  /** `at` is the id of the element that asks. */
  question: undefined as { at: string; form: () => TemplateResult } | undefined,
  isRetrying: false,
  paper: undefined as TemplateResult | undefined,
};

export const asks = (name: string): string => page.query.get(name) ?? "";
export const addressOf = (name: string, query: object) => `#${name}?${new URLSearchParams(Object.entries(query))}`;
const LATE = ["not_found", "precondition_failed", "order_shipped", "order_cancelled", "pet_not_available"];
const isLate = (error: unknown): boolean => LATE.includes((error as PetStoreError).code);
const root = document.querySelector("#console") as HTMLElement;
const busy = new Set<string>();
export const update = () => void render(page.draw(), root);

export function focusOn(...selectors: string[]): void {
  update();
  selectors.flatMap((selector) => document.querySelector<HTMLElement>(selector) ?? [])[0]?.focus();
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

export function fail(error: unknown): void {
  if (error instanceof DOMException && error.name === "AbortError") return;
  const { message, code, status, requestId, retryAfter = 60, idempotencyKey } = error as PetStoreError;
  let text = message;
  if (code === "rate_limited") text = `Too many requests. Wait ${Math.ceil(retryAfter)} seconds.`;
  else if (code === "network" || code === "timeout") text = "The service did not answer.";
  if (isUnanswered(error)) text += ` Try again${idempotencyKey ? ": nothing happens twice" : ""}.`;
  if (status === 401) {
    sessionStorage.removeItem(API_KEY);
    text = "The service does not accept the key. Check it and sign in: you go on where you were.";
    focusOn("#key");
  }
  page.notice = { text, isError: true, requestId };
  update();
}

export function refuse(words: string): never {
  throw new Error(words);
}

/** Whether the service takes it as a customer, and as the number in another system. */
export const isAscii = (text: string): boolean => /^[!-~]{1,255}$/.test(text);
export function asciiOf(of: string, text: string): string | undefined {
  if (text && !isAscii(text)) refuse(`The ${of}, ${text}, has a space, an accent or more than 255 characters.`);
  return text || undefined;
}

type Send<Item> = (left: Item[]) => Promise<unknown>;
type LeaveOut<Item> = (item: Item, why: string) => void;
/** Sends the items that the service takes, and tells why not the others. It takes all of a request or none, and names the places. */
export async function sendAllowed<Item>(all: Item[], send: Send<Item>, leaveOut: LeaveOut<Item>): Promise<void> {
  for (let left = all; left.length > 0;) {
    const error = await send(left)
      .then(() => undefined)
      .catch((error: PetStoreError) => error);
    if (!error) return;
    const [, places, why = ""] = /^([\d, ]+): (.*)/.exec(error.message) ?? [];
    const { done = 0 } = error;
    if (places === undefined) throw error;
    const out = new Set(places.split(", ").map((place) => left[done + Number(place)]));
    for (const item of out) if (item) leaveOut(item, isLate(error) ? "Somebody else changed it." : why);
    left = left.slice(done).filter((item) => !out.has(item));
  }
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
  const ended = await run().catch((error: unknown): Ended => {
    if (!isLate(error)) throw error;
    const text = `Meanwhile, ${of || "it"} was changed by somebody else, or by your try before.`;
    return { text: `${text} You see it as it is now.`, isError: true };
  });
  // What was done is done, and its notice comes last. The service refuses a change of a version that is out of date.
  await show().catch(fail);
  const undo = ended && ended.undo;
  return undo ? { ...ended, undo: () => change(undo, of, show) } : ended;
}

export const isAllowed = ({ scopes = [] }: Action): boolean => scopes.every(may);
/** The buttons of the element `at`, or what one of them asks. A question that failed stays. */
export function actionsOf(at: string, of: string, actions: Action[], show: () => Promise<void>, version = "") {
  if (page.question?.at === at) return page.question.form();
  const buttons = actions.filter(isAllowed).map(({ label, isPrimary, question, fields, run }) => {
    const from = `${at}-${label.toLowerCase().replaceAll(" ", "-")}`;
    const close = async () => {
      page.question = undefined;
      focusOn(`#${from}`, `#${at}`, "#title");
    };
    const attempt = async (entered = {} as Fields) => {
      const name = `${from} ${version} ${JSON.stringify(entered)}`;
      const ended = await change(() => run((send) => once(name, send), entered), of, show);
      if (page.question?.form === form) await close();
      return ended;
    };
    const form =
      () => html`<form class="question" aria-label="${label} ${of}" @submit=${submit(from, attempt)} @keydown=${({ key }: KeyboardEvent) => key === "Escape" && close()}>${question ? html`<p>${question}</p>` : nothing} ${fields?.()}
      <button class="primary" id="confirm" aria-disabled=${busy.has(from)}>${label} ${of}</button> ${button("back", "Back", close)}</form>`;
    const ask = async () => {
      page.question = { at, form };
      focusOn(".question :is(input, select, #confirm)");
    };
    return button(from, label, question || fields ? ask : attempt, of, isPrimary);
  });
  return buttons.length === 0 ? nothing : html`<div class="actions">${buttons}</div>`;
}

type Input = { value?: string | bigint | undefined; type?: string; isRequired?: boolean; list?: string };
export const input = (label: string, name: string, { value = "", type = "text", isRequired, list }: Input = {}) =>
  html`<label>${label}<input type=${type} name=${name} list=${list ?? nothing} ?required=${isRequired} maxlength="255" .value=${String(value)} /></label>`;
/** @param options values, each with its text. */
export const choice = (label: string, name: string, options: string[][], chosen = asks(name)): TemplateResult =>
  html`<label>${label}<select name=${name}>${options.map(([value, text]) => html`<option value=${value} .selected=${value === chosen}>${text}</option>`)}</select></label>`;

/** A search, and what else narrows a list as soon as it is chosen. The address keeps what they ask for. */
export function filters(label: string, name: string, others: unknown): TemplateResult {
  const kept = Object.fromEntries(page.query);
  const find = submit("find", async (fields) => {
    const address = addressOf(page.name, { ...kept, ...fields });
    if (location.hash === address) await page.reload();
    else location.hash = address;
  });
  const choose = ({ target }: { target: HTMLInputElement }) => target.type !== "search" && target.form?.requestSubmit();
  return html`<form class="fields" role="search" @submit=${find} @change=${choose}>${input(label, name, { type: "search", value: asks(name) })}<button class="primary">Find</button>${others}</form>`;
}

const exact = new Intl.DateTimeFormat("en-GB", { dateStyle: "medium", timeStyle: "short" });
/** As spreadsheets read a time: 2026-11-28 17:05:00. */
export const moment = new Intl.DateTimeFormat("sv-SE", { dateStyle: "short", timeStyle: "medium" });
/** A time, or its day, or when a day begins some days later, at 0:00 or after a gap: all where the browser is. */
export const time = (at: string): TemplateResult => html`<time datetime=${at}>${exact.format(new Date(at))}</time>`;
export const dayOf = (time?: Date): string => moment.format(time).slice(0, 10);
export function midnight(day = dayOf(), later = 0): Date {
  const noon = new Date(`${day}T12:00`);
  noon.setDate(noon.getDate() + later);
  return new Date(noon.setHours(0, 0));
}

export const counted = (count: number, of: string) => `${count.toLocaleString("en")} ${of}${count === 1 ? "" : "s"}`;

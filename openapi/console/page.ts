// How the page is drawn, and what its parts share: notices, questions, buttons, fields and times.
import { html, nothing, render, type TemplateResult } from "lit-html";
import { PetStoreError } from "../../client/src/index.ts";
import { forgetKey, isUnanswered } from "./session.ts";

/** A part of the console, at `#<name>`. */
export interface View {
  title: string;
  isAllowed(): boolean;
  /** Shows what the address asks for. The signal ends with the view. */
  open(query: URLSearchParams, signal: AbortSignal): Promise<void>;
  view(): TemplateResult;
}

/** How something ended. */
export interface Notice {
  text: string;
  isError?: boolean;
  requestId?: string | undefined;
  /** Takes back what was done. */
  undo?: Run;
}

type Run = () => Promise<Notice | void> | void;

export const page = {
  notice: undefined as Notice | undefined,
  /** `at` is the id of the element that asks, and `from` that of the button that was pressed. */
  question: undefined as { at: string; from: string; text: string; label: string; run: Run } | undefined,
  /** Whether the service refused the key after somebody signed in. */
  isLocked: false,
  isRetrying: false,
};

const root = document.querySelector("#console") as HTMLElement;
const busy = new Set<string>();
let frame: () => TemplateResult;
let isQueued = false;

export function start(draw: () => TemplateResult): void {
  frame = draw;
  root.replaceChildren();
  update();
}

/** Draws the page soon. Without an animation frame, which a tab in the background does not get. */
export function update(): void {
  if (!isQueued) queueMicrotask(() => ((isQueued = false), render(frame(), root)));
  isQueued = true;
}

/** Moves the focus after the page is drawn, to the heading if there is no such element any more. */
export function focusOn(id: string): void {
  const find = (one: string) => document.querySelector<HTMLElement>(`#${CSS.escape(one)}`);
  update();
  queueMicrotask(() => (find(id) ?? find("title"))?.focus());
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
  const { message, code, status, requestId, retryAfter, idempotencyKey } = error as PetStoreError;
  if (error instanceof DOMException && error.name === "AbortError") return;
  let text = message;
  if (code === "insufficient_scope") text = "Your key may not do this.";
  else if (code === "rate_limited") text = `Too many requests. Try again in ${Math.ceil(retryAfter ?? 60)} seconds.`;
  else if (code === "network" || code === "timeout") text = "The service did not answer.";
  if (isUnanswered(error)) text += ` Try again${idempotencyKey ? ": nothing happens twice" : ""}.`;
  if (status === 401) {
    forgetKey();
    page.isLocked = true;
    text = "The service does not accept the key. Sign in, and go on where you were.";
    focusOn("key");
  }
  page.notice = { text, isError: true, requestId };
  update();
}

/** The last outcome. Screen readers read what appears in the two elements, which are always there. */
export function noticeBar(): TemplateResult {
  const { text = "", isError = false, requestId, undo } = page.notice ?? {};
  const copy = () => navigator.clipboard.writeText(requestId ?? "").then(() => ({ text: "The request id is copied." }));
  return html`<div class="notices ${isError ? "error" : ""}" ?hidden=${!page.notice && !page.isRetrying}>
    <p role="status">${isError ? "" : text || (page.isRetrying ? "No answer yet. Trying again …" : "")}</p>
    <p role="alert">${isError ? text : ""}</p>
    ${requestId ? html`<p>Request <code>${requestId}</code> ${button("copy", "Copy the request id", copy)}</p>` : nothing}
    ${undo ? button("undo", "Undo", undo) : nothing}
    ${page.notice ? button("dismiss", "Dismiss", () => {}) : nothing}
  </div>`;
}

/**
 * A button. While it is at work, it keeps the focus.
 *
 * @param what it is about, for screen readers.
 */
export function button(id: string, label: string, run: Run, what = "", kind = ""): TemplateResult {
  return html`<button type="button" id=${id} class=${kind} aria-label="${label} ${what}" aria-disabled=${busy.has(id)} @click=${() => act(id, run)}>${label}</button>`;
}

/** A button of the element `at` that asks before it acts. */
export function asking(at: string, label: string, what: string, text: string, run: Run, kind = ""): TemplateResult {
  const from = `${at}-${label.toLowerCase().replaceAll(" ", "-")}`;
  const ask = () => {
    page.question = { at, from, text, label: `${label} ${what}`, run };
    focusOn("confirm");
  };
  return button(from, label, ask, what, kind);
}

/** The question of an element if it asks one, or else its buttons. A question that failed stays. */
export function asked(at: string, buttons: unknown): TemplateResult {
  if (page.question?.at !== at) return html`<div class="actions">${buttons}</div>`;
  const { from, text, label, run } = page.question;
  const close = (focus: string) => {
    page.question = undefined;
    focusOn(focus);
  };
  const confirm = async () => {
    const notice = await run();
    close(at);
    return notice;
  };
  return html`<div class="question" role="group" aria-label=${text} @keydown=${({ key }: KeyboardEvent) => key === "Escape" && close(from)}>
    <p>${text}</p>
    ${button("confirm", label, confirm, "", "primary")} ${button("back", "Back", () => close(from))}
  </div>`;
}

/** A field with its label. */
export const field = (label: string, input: TemplateResult, hint: unknown = nothing): TemplateResult =>
  html`<label><span>${label}</span>${input}${hint === nothing ? nothing : html`<small>${hint}</small>`}</label>`;

/** A list of choices: values, each with its text. */
export function choice(label: string, name: string, options: [string, string][], chosen: string, choose?: Choose) {
  const change = ({ target }: Event) => choose?.((target as HTMLSelectElement).value);
  const list = options.map(
    ([value, text]) => html`<option value=${value} ?selected=${value === chosen}>${text}</option>`,
  );
  return field(label, html`<select name=${name} @change=${change}>${list}</select>`);
}

type Choose = (value: string) => void;
type Submit = (value: (name: string) => string, form: HTMLFormElement) => unknown;

/** Handles a form without leaving the page. */
export const submit = (run: Submit) => (event: SubmitEvent) => {
  event.preventDefault();
  const form = event.target as HTMLFormElement;
  run((name) => (form.elements.namedItem(name) as HTMLInputElement).value.trim(), form);
};

/** The address of a view, without what is empty. */
export function hashOf(name: string, query: Record<string, string> = {}): string {
  const search = String(new URLSearchParams(Object.entries(query).filter(([, value]) => value !== "")));
  return `#${name}${search && `?${search}`}`;
}

const SECONDS = { day: 86_400, hour: 3_600, minute: 60 };
const relative = new Intl.RelativeTimeFormat("en");
const exact = new Intl.DateTimeFormat("en-GB", { dateStyle: "medium", timeStyle: "medium" });

/** How long ago a time was, or how long it takes. A pointer shows the exact time. */
export function time(timestamp: string): TemplateResult {
  const seconds = (Date.parse(timestamp) - Date.now()) / 1_000;
  const [unit, size] = Object.entries(SECONDS).find(([, size]) => Math.abs(seconds) >= size) ?? [];
  const text = size
    ? relative.format(Math.trunc(seconds / size), unit as "day")
    : seconds > 0
      ? "in a moment"
      : "just now";
  return html`<time datetime=${timestamp} title=${exact.format(new Date(timestamp))}>${text}</time>`;
}

// The console at /console: for people of the shop, with the client and the public API alone.
import { html, nothing, type TemplateResult } from "lit-html";
import { animals } from "./animals.ts";
import { feed, mayReadFeed, watch } from "./feed.ts";
import { numbers } from "./numbers.ts";
import { orders } from "./orders.ts";
import { act, button, fail, focusOn, page, submit, update } from "./page.ts";
import { API_KEY, key, lacks, signIn } from "./session.ts";
import type { View } from "./table.ts";
import { webhooks } from "./webhooks.ts";

const VIEWS: Record<string, View> = { orders, animals, feed, webhooks, numbers };
/** Of the deployment, and the key that its page fills in: that of local development has one. */
const { environment, key: localKey = "" } = document.documentElement.dataset;
const isLoopback = ["localhost", "127.0.0.1", "[::1]"].includes(location.hostname);
const LIVE_MILLISECONDS = 15_000;
/** The id of the key that the page's data belongs to, and whether something happened since. */
let owner: string | undefined;
let [isOld, isOpening] = [false, false];
let opened = new AbortController();
const allowed = () => Object.keys(VIEWS).filter((name) => VIEWS[name]?.isAllowed());
/** Whether the service still accepts the key, and it is the one of before. */
const isIn = () => key !== undefined && key.id === owner && sessionStorage.getItem(API_KEY) !== null;

async function open(): Promise<void> {
  const [, wanted, query] = /^#(\w*)\??(.*)$/.exec(location.hash) ?? [];
  const name = allowed().find((one) => one === wanted) ?? allowed()[0] ?? "";
  if (name !== page.name) focusOn("#title");
  Object.assign(page, { name, query: new URLSearchParams(query) });
  document.title = `${VIEWS[name]?.title ?? "Console"} · Pet Store Service`;
  opened.abort();
  const { signal } = (opened = new AbortController());
  isOpening = true;
  update();
  await VIEWS[name]?.open(signal).catch((error: unknown) => signal.aborted || fail(error));
  isOpening = opened.signal !== signal;
  update();
}

async function enter(apiKey: string): Promise<void> {
  await signIn(apiKey, ({ retryIn }) => ((page.isRetrying = retryIn !== undefined), update()));
  owner ??= key?.id;
  // Somebody else sees nothing of what the page shows, also when an import stops the reload.
  if (owner !== key?.id) return location.reload();
  if (mayReadFeed()) void watch(() => look(true)).catch(fail);
  await open();
}

page.reload = open;
page.draw = () => html`
  <header class="bar"><a href="#orders">Pet Store</a> <span class="environment">${environment}</span> ${isIn() ? signedIn() : nothing}</header>
  ${noticeBar()}
  <p class="offline" role="status">${navigator.onLine ? nothing : "You are offline. This page goes on when you are back."}</p>
  <main id="content" tabindex="-1"><section ?hidden=${isIn()}>${isIn() ? nothing : signInForm()}</section>
    <section ?hidden=${!isIn()} aria-busy=${isOpening}><div class="title"><h1 id="title" tabindex="-1">${VIEWS[page.name]?.title ?? "This key allows nothing here"}</h1> ${button("refresh", isOpening ? "Loading …" : "Refresh", open)}</div>
      ${VIEWS[page.name]?.view() ?? lacks()}</section></main> ${page.paper}`;
update();

function signedIn(): TemplateResult {
  const signOut = async () => (sessionStorage.clear(), location.reload());
  return html`<nav aria-label="Console">${allowed().map((name) => html`<a href="#${name}" aria-current=${name === page.name ? "page" : nothing}>${VIEWS[name]?.title}</a>`)}</nav>
    <span class="key">${key?.name} <small>${key?.id}</small></span>
    ${button("sign-out", "Sign out", signOut)}`;
}

function signInForm(): TemplateResult {
  const send = submit("sign-in", (fields) => enter(fields.key).then(() => (lacks() ? { text: lacks() } : undefined)));
  return html`<form class="sign-in" @submit=${send}><h1>Sign in ${key === undefined ? "to the shop" : "again"}</h1>
    <label>API key<input type="password" id="key" name="key" required autocomplete="off" value=${isLoopback ? localKey : ""} />
    <small>This tab alone keeps it, until you close the tab or sign out. Whoever runs the service gives you one.</small></label><button class="primary">Sign in</button></form>`;
}

/** The last outcome. Screen readers read what appears in the two elements, which are always there. */
function noticeBar(): TemplateResult {
  const { text = "", isError = false, requestId, undo } = page.notice || {};
  return html`<div class="notices ${isError ? "error" : ""}" ?hidden=${!page.notice && !page.isRetrying}>
    <p role="status">${isError ? "" : text || (page.isRetrying ? "No answer yet. Trying again …" : "")}</p> <p role="alert">${isError ? text : ""}</p>
    ${requestId ? html`<p>Request <code>${requestId}</code></p>` : nothing} ${undo ? button("undo", "Undo", undo) : nothing}
    ${page.notice ? button("dismiss", "Dismiss", async () => {}) : nothing}</div>`;
}

addEventListener("hashchange", () => {
  Object.assign(page, { notice: undefined, question: undefined, paper: undefined });
  if (isIn()) void open();
});
for (const event of ["online", "offline"])
  addEventListener(event, () => (isIn() && navigator.onLine ? void open() : update()));
/** Fetches a view anew when it is old, and nobody does anything. After a failure, which nobody is told, it is still old. */
function look(isNew: boolean): void {
  isOld ||= isNew;
  const view = VIEWS[page.name];
  const isAsked = document.querySelector(".question") !== null;
  const isCalm = isIn() && !isOpening && !document.hidden && !isAsked && scrollY === 0;
  if (!isOld || !isCalm || !view?.isLive?.()) return;
  isOld = false;
  void view.open(opened.signal).then(update, () => (isOld = true));
}
setInterval(() => look(!mayReadFeed()), LIVE_MILLISECONDS);
const remembered = sessionStorage.getItem(API_KEY);
if (remembered !== null) void act("sign-in", () => enter(remembered));

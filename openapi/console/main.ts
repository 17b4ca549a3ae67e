// The console at /console: for people of the shop, with the client and the public API alone.
import { html, nothing, type TemplateResult } from "lit-html";
import { animals } from "./animals.ts";
import { feed } from "./feed.ts";
import { numbers } from "./numbers.ts";
import { orders } from "./orders.ts";
import { act, button, fail, field, focusOn, noticeBar, page, start, submit, update, type View } from "./page.ts";
import { current, rememberedKey, signIn, signOut } from "./session.ts";
import { webhooks } from "./webhooks.ts";

const VIEWS: Record<string, View> = { orders, animals, feed, webhooks, numbers };
/** Of the deployment, and the key that its page fills in: that of local development has one. */
const { environment = "", key = "" } = document.documentElement.dataset;
const isLoopback = ["localhost", "127.0.0.1", "[::1]"].includes(location.hostname);

let name = "";
let isOpening = false;
let opened = new AbortController();
/** The id of the key that signed in. */
let by: string | undefined;

const allowed = () => Object.entries(VIEWS).filter(([, view]) => view.isAllowed());

async function open(): Promise<void> {
  const [, wanted = "", query] = /^#(\w*)\??(.*)$/.exec(location.hash) ?? [];
  const [[first] = [""]] = allowed();
  const next = allowed().some(([one]) => one === wanted) ? wanted : first;
  const isOther = next !== name;
  [name, isOpening, page.question] = [next, true, undefined];
  document.title = `${VIEWS[name]?.title ?? "Console"} · Pet Store Service`;
  opened.abort();
  const { signal } = (opened = new AbortController());
  if (isOther) focusOn("title");
  update();
  await VIEWS[name]?.open(new URLSearchParams(query), signal).catch((error: unknown) => signal.aborted || fail(error));
  if (signal.aborted) return;
  isOpening = false;
  update();
}

async function enter(apiKey: string): Promise<void> {
  const { key } = await signIn(apiKey, (isRetrying) => {
    page.isRetrying = isRetrying;
    update();
  });
  // Somebody else sees nothing of what the page shows.
  if (by !== undefined && by !== key.id) return location.reload();
  page.isLocked = false;
  by = key.id;
  await open();
}

const isIn = () => by !== undefined && !page.isLocked;

start(
  () => html`
    <header class="bar">
      <a href="#orders">Pet Store</a> <span class="environment">${environment}</span>
      ${isIn() ? signedIn() : nothing}
    </header>
    ${noticeBar()}
    <p class="offline" role="status">${navigator.onLine ? nothing : "You are offline. This page may be old, and goes on when you are back."}</p>
    <main id="content" tabindex="-1">
      <section ?hidden=${isIn()}>${by === undefined || page.isLocked ? signInForm() : nothing}</section>
      <section ?hidden=${!isIn()} aria-busy=${isOpening}>
        <div class="title">
          <h1 id="title" tabindex="-1">${VIEWS[name]?.title ?? "This key allows nothing here"}</h1>
          ${button("refresh", isOpening ? "Loading …" : "Refresh", open)}
        </div>
        ${VIEWS[name]?.view() ?? nothing}
      </section>
    </main>
  `,
);

function signedIn(): TemplateResult {
  const { key } = current();
  return html`<nav aria-label="Console">
      ${allowed().map(([one, { title }]) => html`<a href="#${one}" aria-current=${one === name ? "page" : nothing}>${title}</a>`)}
    </nav>
    <span class="key" title="The key ${key.id} allows ${key.scopes.join(", ")}">${key.name} <small>${key.id}</small></span>
    ${button("sign-out", "Sign out", signOut)}`;
}

function signInForm(): TemplateResult {
  const enterKey = submit((value) => act("sign-in", () => enter(value("key"))));
  return html`<form class="sign-in" @submit=${enterKey}>
    <h1>${by === undefined ? "Sign in to the shop" : "Sign in again"}</h1>
    ${field("API key", html`<input type="password" id="key" name="key" required autocomplete="off" spellcheck="false" value=${isLoopback ? key : ""} />`, "This tab alone keeps it, until you close the tab or sign out. Whoever runs the service gives you one.")}
    <button class="primary">Sign in</button>
  </form>`;
}

addEventListener("hashchange", () => {
  page.notice = undefined;
  if (isIn()) void open();
});
for (const event of ["online", "offline"]) {
  addEventListener(event, () => {
    update();
    if (isIn() && navigator.onLine) void open();
  });
}
const remembered = rememberedKey();
if (remembered !== null) void act("sign-in", () => enter(remembered));

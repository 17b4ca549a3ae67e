// The search over all pages. Its library and its entries are loaded when a reader first opens it.

/** Of questions such as "What does a 409 mean?". */
const STOP_WORDS = new Set(
  "a an and are by can do does for from how i in is it mean means my of on or the this to use what when which with".split(
    " ",
  ),
);

const button = document.querySelector("#open-search");
const dialog = document.querySelector("#search");
const input = dialog.querySelector("input");
const list = dialog.querySelector("[role=listbox]");
const status = dialog.querySelector("[role=status]");
let loading;

button.hidden = false;
button.addEventListener("click", open);
// No single letter opens it: it would also answer to speech, and to those who type by mistake (WCAG 2.1.4).
addEventListener("keydown", (event) => {
  if (!(event.ctrlKey || event.metaKey) || event.key.toLowerCase() !== "k") return;
  event.preventDefault();
  open();
});
input.addEventListener("input", show);
input.addEventListener("keydown", async (event) => {
  const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  if (step !== undefined) {
    event.preventDefault();
    choose((chosenIndex() + step + list.children.length) % list.children.length);
  }
  // Of an input method, Enter only ends a word.
  if (event.key !== "Enter" || event.isComposing) return;
  event.preventDefault();
  // Of the words that are there now, also when the entries are still loading.
  await show();
  list.children[chosenIndex()]?.click();
});
// The dialog gives the focus back before the link moves it.
list.addEventListener("click", () => dialog.close());
dialog.addEventListener("click", ({ target }) => target === dialog && dialog.close());

function open() {
  if (!dialog.open) dialog.showModal();
  input.select();
  void load();
}

function load() {
  return (loading ??= fetchIndex().catch((error) => {
    loading = undefined;
    status.textContent = "The search could not be loaded. Try again.";
    throw error;
  }));
}

async function fetchIndex() {
  const [{ default: MiniSearch }, response] = await Promise.all([
    import("./minisearch.js"),
    fetch(new URL("entries.json", import.meta.url)),
  ]);
  const index = new MiniSearch({
    fields: ["title", "words", "place", "page", "text"],
    storeFields: ["title", "place", "text"],
    processTerm: stem,
    searchOptions: {
      boost: { title: 4, words: 4, page: 0.5 },
      prefix: (term) => term.length > 2,
      fuzzy: (term) => (term.length > 4 ? 0.2 : false),
      weights: { prefix: 0.4, fuzzy: 0.2 },
      // A guide explains what an operation does, and a field is a detail of it.
      boostDocument: (id) => (id.startsWith("/docs/") ? 1.2 : id.includes(".") ? 0.6 : 1),
    },
  });
  index.addAll(await response.json());
  return index;
}

/** One form of a word, for the entries and for what the reader enters: "ships" and "shipping" are "ship". Words that say nothing are left out. */
function stem(word) {
  const lower = word.toLowerCase();
  if (STOP_WORDS.has(lower)) return null;
  const base = lower.replace(/(?<=\w{3})ies$/, "y").replace(/(?<=\w{3})(?:ing|ed|(?<!s)s)$/, "");
  return base.replace(/(?<=\w{2}([b-df-hj-np-tv-z]))\1$/, "").replace(/(?<=\w{3})e$/, "");
}

async function show() {
  const words = input.value;
  const index = await load();
  // The reader has typed on.
  if (words !== input.value) return;
  // What has more of the words is the better answer.
  const rank = ({ score, queryTerms }) => score * queryTerms.length;
  const results = index.search(words).toSorted((one, other) => rank(other) - rank(one));
  list.replaceChildren(...results.map(option));
  list.hidden = results.length === 0;
  input.ariaExpanded = String(!list.hidden);
  status.textContent =
    words.trim() === "" ? "" : `${results.length || "No"} ${results.length === 1 ? "result" : "results"}`;
  choose(0);
}

function option({ id, title, place, text }, index) {
  const link = document.createElement("a");
  Object.assign(link, { id: `result-${index}`, href: id, role: "option", tabIndex: -1 });
  for (const [name, content] of [
    ["strong", title],
    ["small", place],
    ["span", text],
  ]) {
    link.append(Object.assign(document.createElement(name), { textContent: content }));
  }
  return link;
}

function chosenIndex() {
  return [...list.children].findIndex((link) => link.ariaSelected === "true");
}

function choose(index) {
  for (const [place, link] of [...list.children].entries()) link.ariaSelected = String(place === index);
  const chosen = list.children[index];
  input.setAttribute("aria-activedescendant", chosen?.id ?? "");
  chosen?.scrollIntoView({ block: "nearest" });
}

import { addCopyButtons } from "./copy-buttons.js";

// The reference at /docs/reference: Scalar on our own document, with nothing from anywhere else.
const root = document.querySelector("#reference");
const { renderer, document: documentPath, localKey, newKey } = root.dataset;
root.querySelector("#state").textContent = "The reference is loading.";
const [{ createApiReference }, response] = await Promise.all([import(renderer), fetch(documentPath)]);

const isLocal = ["localhost", "127.0.0.1", "[::1]"].includes(location.hostname);
const base = `${location.origin}/v1`;
const text = await response.text();
// Pages without HTTPS have no crypto.randomUUID (W3C Web Cryptography, SecureContext).
const reference = JSON.parse(
  text
    .replaceAll("{base}", base)
    .replaceAll("{origin}", location.origin)
    .replaceAll("{uuid}", () => crypto.randomUUID?.() ?? "new-for-each-request"),
);
reference.servers = [{ url: base }];

// The renderer has no such buttons on the code of descriptions, and draws a description when the reader gets near.
new MutationObserver(() => {
  // A response is not for copying.
  addCopyButtons(root.querySelectorAll(".markdown pre:not(:has(.language-json))"));
  // The target of the link that skips the navigation.
  const main = root.querySelector("main");
  if (main !== null) Object.assign(main, { id: "content", tabIndex: -1 });
}).observe(root, { childList: true, subtree: true });

// The renderer draws sections above a target while it scrolls there, and sometimes ends elsewhere. So this looks four times a second, for 3 s
// after the arrival and 30 s at most, until the reader moves.
let arriving;
for (const move of ["wheel", "touchmove", "pointerdown", "keydown"])
  addEventListener(move, () => clearInterval(arriving));
addEventListener("hashchange", () => {
  const target = `[id$="${CSS.escape(decodeURIComponent(location.hash.slice(1)))}"]`;
  let looks = 0;
  let arrivals = 0;
  clearInterval(arriving);
  arriving = setInterval(() => {
    const section = root.querySelector(target);
    const top = section?.getBoundingClientRect().top;
    if (top >= 0 && top < innerHeight) arrivals += 1;
    else section?.scrollIntoView();
    looks += 1;
    if (arrivals === 12 || looks === 120) clearInterval(arriving);
  }, 250);
});

root.replaceChildren();
createApiReference(root, {
  content: reference,
  authentication: {
    preferredSecurityScheme: "apiKey",
    securitySchemes: { apiKey: { token: isLocal ? localKey : "" } },
  },
  onBeforeRequest({ requestBuilder: { headers } }) {
    if (headers.get("Idempotency-Key") === newKey) headers.set("Idempotency-Key", crypto.randomUUID());
  },
  // Another host would learn who reads this page, or see requests with keys. The policy of the page forbids it, too.
  withDefaultFonts: false,
  telemetry: false,
  proxyUrl: "",
  agent: { disabled: true },
  mcp: { disabled: true },
  showDeveloperTools: "never",
  hideClientButton: true,
  // It finds no section of a guide and no field, chooses no result, and is on this page only. search.js is on all pages.
  hideSearch: true,
  persistAuth: false,
  // The form rounds large integers, and so do the generated samples. page.css hides the switch to the form.
  defaultRequestBodyView: "raw",
  hiddenClients: true,
  documentDownloadType: "none",
  modelsSectionLabel: "Schemas",
  defaultOpenFirstTag: true,
  operationTitleSource: "summary",
  orderSchemaPropertiesBy: "preserve",
});

import { addCopyButtons } from "./copy-buttons.js";

addCopyButtons(document.querySelectorAll("article pre"));
// The bar may be wider than a phone. scrollIntoView would let the first Tab start here.
const entry = document.querySelector("[aria-current]");
const bar = entry.parentElement;
bar.scrollLeft = entry.offsetLeft - (bar.clientWidth - entry.offsetWidth) / 2;

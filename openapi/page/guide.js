import { addCopyButtons } from "./copy-buttons.js";

// The commands of the guide then name this deployment.
const texts = document.createTreeWalker(document.querySelector("article"), NodeFilter.SHOW_TEXT);
for (let text = texts.nextNode(); text !== null; text = texts.nextNode())
  text.data = text.data.replaceAll("https://petstore.example", location.origin);
addCopyButtons(document.querySelectorAll("article pre:not(.output)"));
// The bar may be wider than a phone. scrollIntoView would let the first Tab start here.
const entry = document.querySelector("[aria-current]");
const bar = entry.parentElement;
bar.scrollLeft = entry.offsetLeft - (bar.clientWidth - entry.offsetWidth) / 2;

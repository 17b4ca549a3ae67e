import { addCopyButtons } from "./copy-buttons.js";

// The commands of the guide then name this deployment.
const texts = document.createTreeWalker(document.querySelector("article"), NodeFilter.SHOW_TEXT);
for (let text = texts.nextNode(); text !== null; text = texts.nextNode())
  text.data = text.data.replaceAll("https://petstore.example", location.origin);
addCopyButtons(document.querySelectorAll("article pre:not(.output)"));

import { addCopyButtons } from "./copy-buttons.js";

addCopyButtons(document.querySelectorAll("article pre"));

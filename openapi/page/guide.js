import { addCopyButtons } from "./copy-buttons.js";

addCopyButtons(document.querySelectorAll("article pre"));
// The bar may be wider than a phone.
document.querySelector("[aria-current]").scrollIntoView({ block: "nearest", inline: "center" });

// Before the page is drawn: the colours that the visitor chose in the reference, or else those of the system.
const chosen = localStorage.getItem("colorMode");
const dark = chosen === "dark" || (chosen !== "light" && globalThis.matchMedia("(prefers-color-scheme: dark)").matches);
document.documentElement.classList.toggle("dark", dark);

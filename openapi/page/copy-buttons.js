/** Adds a button that copies to each block of code that has none yet. */
export function addCopyButtons(blocks) {
  for (const block of blocks) {
    if (block.parentElement.className === "code") continue;
    const frame = document.createElement("div");
    frame.className = "code";
    block.replaceWith(frame);
    frame.append(copyButton(block.textContent), block);
  }
}

function copyButton(text) {
  const button = document.createElement("button");
  button.type = "button";
  button.textContent = "Copy";
  button.addEventListener("click", async () => {
    await navigator.clipboard.writeText(text);
    button.textContent = "Copied";
    setTimeout(() => (button.textContent = "Copy"), 2_000);
  });
  return button;
}

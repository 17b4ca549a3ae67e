// The reference was at this address, with an anchor for each of its parts.
if (/^#(?:description|schemas|tag)\//.test(location.hash)) location.replace(`/docs/reference${location.hash}`);

// A local service accepts a public key, so that the commands work as they are.
if (["localhost", "127.0.0.1", "[::1]"].includes(location.hostname)) {
  const { localKey } = document.querySelector("[data-local-key]").dataset;
  const texts = document.createTreeWalker(document.querySelector("article"), NodeFilter.SHOW_TEXT);
  for (let text = texts.nextNode(); text !== null; text = texts.nextNode())
    text.data = text.data.replaceAll("petstore_...", localKey);
}
await import("./guide.js");

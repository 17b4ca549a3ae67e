// The Mermaid diagrams of the guides as SVG: browsers draw no Mermaid, and its own renderer needs one.
import { renderMermaidSVG } from "beautiful-mermaid";

/** For those who do not see the diagram. The library does not know it. */
const TITLE = /^\s*accTitle:\s*(.+)\n/m;

/** A figure in the colours of page.css. */
export function diagram(mermaid: string): string {
  const title = TITLE.exec(mermaid)?.[1];
  if (title === undefined) throw new Error(`A diagram has no accTitle:\n${mermaid}`);
  const svg = renderMermaidSVG(mermaid.replace(TITLE, ""), { padding: 4, nodeSpacing: 56, layerSpacing: 36 })
    // The styles of the library load a font from another host.
    .replace(/<style>[\s\S]*?<\/style>/, "")
    .replace(/(?<=^<svg[^>]*) style="[^"]*"/, ` role="img" aria-label="${title}"`);
  return `<figure>${svg}</figure>\n`;
}

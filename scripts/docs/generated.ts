/** Functions that render the tables, by the name in the marker. */
export type Tables = { [name: string]: () => string };

/** A generated part of a page: its name in the opening marker, and everything up to the closing one. */
const PART = /<!-- generated: ([\w-]+) -->\n([\s\S]*?)<!-- end -->/g;

/**
 * A page with its generated parts updated.
 *
 * @throws Error when the page asks for a table that does not exist.
 */
export function withTables(text: string, tables: Tables): string {
  return text.replace(PART, (_, name: string) => {
    const render = tables[name];
    if (render === undefined) throw new Error(`There is no generated table ${name}`);
    return `<!-- generated: ${name} -->\n\n${render()}\n\n<!-- end -->`;
  });
}

/** A Markdown table with padded columns, as oxfmt formats it. */
export function table(head: string[], rows: string[][]): string {
  const widths = head.map((_, column) => Math.max(3, ...[head, ...rows].map((row) => row[column]?.length ?? 0)));
  const line = (cells: string[], filler = " ") =>
    `| ${widths.map((width, column) => (cells[column] ?? "").padEnd(width, filler)).join(" | ")} |`;
  return [line(head), line([], "-"), ...rows.map((row) => line(row))].join("\n");
}

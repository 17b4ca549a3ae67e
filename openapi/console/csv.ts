// Animals from a CSV file (RFC 4180). Spreadsheets of some countries separate by semicolons.
import type { NewPet, PetStatus } from "../../client/src/index.ts";

/** A line that cannot be added. */
export interface Refused {
  /** Counted from 1, as spreadsheets do. */
  row: number;
  reason: string;
}

export interface Import {
  animals: NewPet[];
  refused: Refused[];
}

const MAX_CHARACTERS = 255;

/** A field in quotes or not, and what ends it. Takes linear time. */
const FIELD = /(?:"((?:[^"]|"")*)"|([^,;\t\r\n]*))(,|;|\t|\r?\n|\r|$)/y;

/** @throws Error in words, when the text is no CSV. */
export function parseCsv(text: string): string[][] {
  const rows: string[][] = [[]];
  const csv = text.replace(/^\uFEFF/, "");
  // Only the separator of the first line separates.
  const separator = /[,;\t]/.exec(csv.split(/\r|\n/, 1)[0] ?? "")?.[0] ?? ",";
  let isOpen = false;
  for (FIELD.lastIndex = 0; FIELD.lastIndex < csv.length;) {
    const match = FIELD.exec(csv);
    if (match === null) throw new Error(`Row ${rows.length} has a quotation mark in the wrong place.`);
    const [, quoted, plain = "", end = ""] = match;
    const row = rows.at(-1) as string[];
    const value = quoted === undefined ? plain : quoted.replaceAll('""', '"');
    if (isOpen) row[row.length - 1] += value;
    else row.push(value);
    isOpen = /[,;\t]/.test(end) && end !== separator;
    if (isOpen) row[row.length - 1] += end;
    else if (end !== separator && FIELD.lastIndex < csv.length) rows.push([]);
  }
  return rows.filter((row) => row.some((value) => value.trim() !== ""));
}

/**
 * The animals of a file with a first row of names: `name`, `category`, and perhaps `status`.
 *
 * @param categoryIdOf throws an error in words for an unknown category.
 * @throws Error in words, when the file has no such columns.
 */
export function readAnimals(text: string, statuses: PetStatus[], categoryIdOf: (text: string) => bigint): Import {
  const [titles = [], ...rows] = parseCsv(text);
  const columns = titles.map((title) =>
    title
      .trim()
      .toLowerCase()
      .replace(/^category[ _]?id$/, "category"),
  );
  for (const column of ["name", "category"]) {
    if (!columns.includes(column))
      throw new Error(`The first row has no ${column}. It needs name and category, and may have status.`);
  }
  const read: Import = { animals: [], refused: [] };
  for (const [index, row] of rows.entries()) {
    const value = (column: string) => (row[columns.indexOf(column)] ?? "").trim();
    try {
      const [name, status] = [value("name"), value("status").toLowerCase() || "available"];
      if (name === "") throw new Error("The name is missing.");
      if ([...name].length > MAX_CHARACTERS) throw new Error(`The name has more than ${MAX_CHARACTERS} characters.`);
      if (!statuses.includes(status as PetStatus))
        throw new Error(`The status ${status} is none of ${statuses.join(", ")}.`);
      if (value("category") === "") throw new Error("The category is missing.");
      read.animals.push({ name, categoryId: categoryIdOf(value("category")), status: status as PetStatus });
    } catch (error) {
      read.refused.push({ row: index + 2, reason: (error as Error).message });
    }
  }
  return read;
}

/** A comment: the id of a promise, an item that promises nothing, or the place of a part that is generated. */
const MARK = /\s*<!-- [^>]* -->/g;

/** A page without its comments, as readers get it. */
export const withoutMarks = (markdown: string): string => markdown.replaceAll(MARK, "");

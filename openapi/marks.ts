/** Comments of a page that only `npm run check:docs` reads: the ids of promises, and the items of a list that promise nothing. */
const MARK = /\s*<!-- (?:promise: [a-z\d-]+|advice) -->/g;

/** A page without its marks, as readers get it. */
export const withoutMarks = (markdown: string): string => markdown.replaceAll(MARK, "");

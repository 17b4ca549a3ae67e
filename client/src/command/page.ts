/** A whole string, so that no match begins inside one. Takes linear time, also when the end is missing. */
const STRING_OR_BRACKET = /"[^"\\]*(?:\\[^][^"\\]*)*"?|[{}[\]]/g;

/**
 * The events of a page of the feed, each with its id and its text, to the last byte.
 *
 * @param page the JSON of `listEvents`.
 */
export function eventsIn(page: string): [id: string, text: string][] {
  const events: [id: string, text: string][] = [];
  let [depth, field, begin] = [0, "", 0];
  for (const { 0: token, index } of page.matchAll(STRING_OR_BRACKET)) {
    if (token.startsWith('"')) {
      // The last text before an array is the name of its field.
      if (depth === 1) field = token;
    } else if (token === "{" || token === "[") {
      if (++depth === 3) begin = index;
    } else if (--depth === 2 && field === '"events"') {
      const text = page.slice(begin, index + 1);
      events.push([(JSON.parse(text) as { id: string }).id, text]);
    }
  }
  return events;
}

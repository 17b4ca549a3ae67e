import { BASELINES, EMPTY, FLOOR, PETS_ALONE } from "./candidates.ts";
import type { Prepared } from "./prepare.ts";
import { type Answer, type BenchRequest, LIST, REQUESTS, send } from "./requests.ts";
import { Server } from "./server.ts";

/** Browsers on other sites get headers that nobody else gets. */
const FROM_BROWSER: BenchRequest = {
  ...LIST,
  name: "list 20 with Origin",
  headers: { ...LIST.headers, Origin: "https://example.com" },
};
const CHECKED = [...REQUESTS, FROM_BROWSER];
/** Those with the very answers of the service, headers included. The others may refuse in their own words. */
const ALIKE = [FLOOR, PETS_ALONE];

/**
 * Compares what the candidates answer with what the first of them answers: a comparison of costs says nothing when the work differs. An
 * earlier version of the service may have other bodies: that is printed.
 *
 * @throws Error with the difference.
 */
export async function checkAnswers(candidates: Prepared[]): Promise<void> {
  const [ours, ...others] = await Promise.all(candidates.filter(({ name }) => name !== EMPTY).map(ask));
  for (const { candidate, answers } of others) {
    const isAlike = ALIKE.includes(candidate);
    const text = (answer?: Answer) => (isAlike ? `${[...(answer?.headers.keys() ?? [])].join()} ` : "") + answer?.body;
    for (const [index, { name, status }] of CHECKED.entries()) {
      const [theirs, expected] = [text(answers[index]), text(ours?.answers[index])];
      if (theirs === expected || (status >= 400 && !isAlike)) continue;
      const difference = `${name}: ${candidate} answers ${theirs.slice(0, 600)} instead of ${expected.slice(0, 600)}`;
      if (isAlike || candidate in BASELINES) throw new Error(difference);
      console.log(difference);
    }
  }
}

async function ask(candidate: Prepared): Promise<{ candidate: string; answers: Answer[] }> {
  await using server = await Server.start(candidate);
  const answers = [];
  for (const request of CHECKED) answers.push(await send(server.port, request));
  return { candidate: candidate.name, answers };
}

import { BASELINES, EMPTY, FLOOR, PETS_ALONE } from "./candidates.ts";
import type { Prepared } from "./prepare.ts";
import { type Answer, FROM_BROWSER, REQUESTS } from "./requests.ts";

/** The candidates with the same responses as the service, headers included. The others may have other messages in failures. */
const ALIKE = [FLOOR, PETS_ALONE];

/**
 * Compares the responses of the candidates with those of the first, because costs are comparable only for equal work. An earlier
 * version of the service may have other bodies. Those differences are printed.
 *
 * @throws Error with the difference.
 */
export function checkAnswers([ours, ...others]: Prepared[]): void {
  for (const { name: candidate, answers } of others.filter(({ name }) => name !== EMPTY)) {
    const isAlike = ALIKE.includes(candidate);
    const text = (answer?: Answer) => (isAlike ? `${[...(answer?.headers.keys() ?? [])].join()} ` : "") + answer?.body;
    for (const { name, status } of [...REQUESTS, FROM_BROWSER]) {
      const [theirs, expected] = [text(answers.get(name)), text(ours?.answers.get(name))];
      if (theirs === expected || (status >= 400 && !isAlike)) continue;
      const difference = `${name}: ${candidate} answers ${theirs.slice(0, 600)} instead of ${expected.slice(0, 600)}`;
      if (isAlike || candidate in BASELINES) throw new Error(difference);
      console.log(difference);
    }
  }
}

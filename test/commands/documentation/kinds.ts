import type { Command, Page } from "./page.ts";

/** The commands of the set-up. `.ci/run` runs the first two, and dev.test.ts the third. */
const ELSEWHERE = ["npm ci", "npm test", "npm run dev"];

export function isTestedElsewhere({ text }: Command): boolean {
  return text.split(" && ").every((part) => ELSEWHERE.includes(part));
}

/** Whether the commands of a page are requests to the service. */
export function isForClients({ sections }: Page): boolean {
  return sections.some(({ commands }) => commands.some(({ text }) => text.includes("$BASE")));
}

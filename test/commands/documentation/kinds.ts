import { existsSync } from "node:fs";
import type { Command, Page } from "./page.ts";

/** The commands of the set-up. dev.test.ts runs the last one, and `.ci/run` the others. */
export const SET_UP = ["npm ci", "npm test", "npm run check", "npm run dev"];
/** Installs the client from a deployment, or runs its command. test/third-party/client/installation.test.ts does. */
const INSTALLATION = /^(?:npm install|npx --package) (?:\\\n *)?(?:https:\/\/petstore\.example|\{origin\})\/docs\//;
/** A command that starts an example. The tests of the shops, the programs and the copy run it too. */
const EXAMPLE = /^(?:PORT=\d+ )?(?:node|npx wrangler dev --config) (examples\/\S+)/;

/** Commands that show logs and figures, which the fake account does not have. reader.sh looks for their options in their help. */
export const isNotFaked = (text: string): boolean => /^npx wrangler (?:tail|d1 info|d1 insights) /.test(text);

export function isTestedElsewhere({ text }: Command): boolean {
  if (INSTALLATION.test(text)) return true;
  const [, example] = EXAMPLE.exec(text) ?? [];
  if (example !== undefined) return existsSync(example);
  return text.split(" && ").every((part) => SET_UP.includes(part));
}

/** Whether the commands of a page are requests to the service. */
export function isForClients({ sections }: Page): boolean {
  return sections.some(({ commands }) => commands.some(({ text }) => text.includes("$BASE")));
}

/** Mutants that no test can find, each with its reason: the file, and the text that `npm run test:mutants -- --random` prints. */
export const EQUIVALENT: [file: string, text: string, reason: string][] = [];

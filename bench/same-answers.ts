import { BASELINES, EMPTY, FLOOR, SERVICE } from "./candidates.ts";
import type { Prepared } from "./prepare.ts";
import { type BenchRequest, headersOf, LIST, REQUESTS } from "./requests.ts";
import { Server } from "./server.ts";

/** Browsers on other sites get headers that nobody else gets. */
const FROM_BROWSER: BenchRequest = { ...LIST, name: "list 20 with Origin", headers: { Origin: "https://example.com" } };
const CHECKED = [...REQUESTS, FROM_BROWSER];

interface Answer {
  status: number;
  body: string;
  headers: Set<string>;
}
interface Difference {
  text: string;
  request: string;
  fails: boolean;
}

/**
 * Compares what the candidates answer with what the service answers: a comparison of costs says nothing when the work differs. The
 * floor has to answer every request alike, with the same headers; the other baselines may refuse in their own words. An earlier version of the service may
 * differ in everything: that is printed.
 *
 * @throws Error with the differences.
 */
export async function checkAnswers(candidates: Prepared[]): Promise<void> {
  const answers = new Map<string, Answer[]>();
  for (const candidate of candidates) {
    if (candidate.name !== EMPTY) answers.set(candidate.name, await ask(candidate));
  }
  const ours = answers.get(SERVICE) ?? [];
  const differences = [...answers].flatMap(([name, theirs]) =>
    CHECKED.flatMap(({ name: request }, index) =>
      compare(name, theirs[index], ours[index]).map((difference) => ({ ...difference, request })),
    ),
  );
  const failures = describe(differences.filter(({ fails }) => fails));
  if (failures.length > 0) throw new Error(`Baselines have to answer as the service does:\n${failures.join("\n")}`);
  for (const line of describe(differences)) console.log(line);
}

function compare(name: string, theirs?: Answer, ours?: Answer): Omit<Difference, "request">[] {
  if (theirs === undefined || ours === undefined) throw new Error(`${name} or ${SERVICE} was not asked`);
  const differences = [];
  const fails = BASELINES.includes(name);
  if (theirs.status !== ours.status) {
    differences.push({ fails, text: `${name} answers ${theirs.status} instead of ${ours.status}` });
  }
  if (theirs.body !== ours.body && (ours.status < 400 || name === FLOOR)) {
    differences.push({ fails, text: `${name} answers ${start(theirs.body)} instead of ${start(ours.body)}` });
  }
  if (name !== FLOOR) return differences;
  const missing = [...ours.headers.difference(theirs.headers)];
  const additional = [...theirs.headers.difference(ours.headers)];
  if (missing.length > 0) differences.push({ fails, text: `${name} does not send ${missing.join(", ")}` });
  if (additional.length > 0) differences.push({ fails, text: `${name} alone sends ${additional.join(", ")}` });
  return differences;
}

async function ask(candidate: Prepared): Promise<Answer[]> {
  await using server = await Server.start(candidate);
  const answers = [];
  for (const request of CHECKED) {
    const { method, path, body = null } = request;
    const response = await fetch(`http://127.0.0.1:${server.port}${path}`, {
      method,
      headers: headersOf(request),
      body,
    });
    answers.push({ status: response.status, body: await response.text(), headers: new Set(response.headers.keys()) });
  }
  return answers;
}

/** One line for each difference, with the requests that show it. */
function describe(differences: Difference[]): string[] {
  const groups = Map.groupBy(differences, ({ text }) => text);
  return [...groups].map(([text, same]) => `${text} (${same.map(({ request }) => request).join("; ")})`);
}

function start(body: string): string {
  return body.length > 300 ? `${body.slice(0, 300)}…` : body;
}

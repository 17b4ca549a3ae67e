// For .ci/run: prints the projects of Vitest that the changes of this branch may affect, beside those that every change runs.
import { matchesGlob } from "node:path";
import { git } from "./git.ts";

type Project = "browser" | "load" | "third-party";

/**
 * Which projects read these files. The first rule with a file decides. A file without a rule affects the documentation in Chromium
 * and the tools of others, so only what surely affects neither has a rule.
 */
export const RULES: [paths: string[], projects: Project[]][] = [
  // An operation, and what it writes. The tests in workerd and of the bundle compare its responses with the document. If it
  // changes the document, `npm run check` asks for new types of the client, and client/ has no rule.
  [
    [
      "src/{pets,categories,orders,events,webhooks}/*-*.ts",
      "src/{changes,idempotency,jobs,log}/**",
      "src/feed/event.ts",
    ],
    [],
  ],
  // The commands of operators, and the checks.
  [["ops/**", "scripts/{docs,expand}/**"], []],
  [["scripts/{affected-projects,check*,generate-{docs,migration},release-notes}.ts"], []],
  // The rules of D1, which are compared with those of workerd.
  [["scripts/sqlite.ts", "test/world/{d1,sqlite}.ts"], ["load"]],
  // The libraries of others verify webhooks in Node.js.
  [["test/world/workerd.ts"], ["third-party"]],
  // Importers read the document from `npm run dev`.
  [["test/commands/dev-service.ts"], ["third-party"]],
  // The browser pastes the program of a page.
  [["test/commands/documentation/page.ts"], ["browser"]],
  // The rows of the operations. Their samples are on the page of the reference.
  [["register/**"], ["browser"]],
  // The tests of other projects. test/built also has what the tests of these projects start.
  [["test/{auth,battery,categories,changes,commands,events,exact,http,log}/**", "test/built/*.test.ts"], []],
  [
    ["test/{languages,model,mutants,openapi,orders,pets,webhooks,world}/**", "test/{cost.test,costs}.ts", "bench/**"],
    [],
  ],
  // The pages that /docs publishes, and what only these pages load.
  [
    [
      "docs/{agents,books,browsers,errors,events,guarantees,imports,keys,languages,not-offered,offline,orders,shop,versioning,webhooks,whats-new}.md",
      "openapi/page/**",
      "test/browser/**",
    ],
    ["browser"],
  ],
  [["docs/**", "*.md"], []],
  [["test/third-party/**"], ["third-party"]],
  // Otherwise these tests run at night only. The client in other runtimes needs the faulty proxy too.
  [["test/load/chaos/**"], ["load", "third-party"]],
  [["test/load/**"], ["load"]],
  [["examples/**"], ["browser", "load", "third-party"]],
];

/**
 * The projects that a change of these files may affect.
 *
 * @param files their paths from the root. None means that the change is unknown.
 */
export function affectedProjects(files: readonly string[]): Set<Project> {
  const ofFile = (file: string): Project[] =>
    RULES.find(([paths]) => paths.some((path) => matchesGlob(file, path)))?.[1] ?? ["browser", "third-party"];
  return new Set(files.length === 0 ? ["browser", "third-party"] : files.flatMap(ofFile));
}

/**
 * The files that differ from the last commit that this branch shares with main, uncommitted ones included. None on main itself, and
 * when that commit is unknown: in a shallow clone, or without main.
 */
function changedFiles(): string[] {
  try {
    if (git("rev-parse", "--is-shallow-repository") === "true" || git("branch", "--show-current") === "main") return [];
    const names = ["refs/remotes/origin/main", "refs/heads/main"];
    const [main = ""] = git("for-each-ref", "--sort=-refname", "--format=%(refname)", ...names).split("\n");
    // Without renames, a file that was moved is there under both names.
    const changed = git("diff", "--merge-base", "--no-renames", "--name-only", "-z", main);
    const added = git("ls-files", "--others", "--exclude-standard", "-z");
    return `${changed}${added}`.split("\0").filter((file) => file !== "");
  } catch {
    return [];
  }
}

if (import.meta.main) console.log([...affectedProjects(changedFiles())].join(" "));

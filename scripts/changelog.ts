export interface Release {
  version: string;
  /** Markdown, without the heading. */
  notes: string;
}

/** A heading such as `## [1.0.0] - 2026-11-21`, and all lines up to the next one of its level. */
const RELEASE = /^## \[(?<version>\d+\.\d+\.\d+)\] - \d{4}-\d{2}-\d{2}\n(?<notes>(?:(?!## ).*\n?)*)/gm;

/** The releases of a changelog in the form of Keep a Changelog, newest first, without `Unreleased`. */
export function releasesOf(changelog: string): Release[] {
  return [...changelog.matchAll(RELEASE)].map(({ groups }) => ({
    version: groups?.["version"] ?? "",
    notes: groups?.["notes"]?.trim() ?? "",
  }));
}

/** What comes with the next release. */
export const unreleasedOf = (changelog: string): string =>
  /^## \[Unreleased\]\n(?:(?!## ).*\n?)*/m.exec(changelog)?.[0] ?? "";

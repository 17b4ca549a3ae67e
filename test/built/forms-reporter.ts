import { readFileSync } from "node:fs";
import type { Reporter, TestModule, Vitest } from "vitest/node";
import { Forms } from "../support/forms.ts";

/** Fails a run of all tests in which no response of the service had a form that the document describes. */
export default class FormsReporter implements Reporter {
  #vitest: Vitest | undefined;

  onInit(vitest: Vitest): void {
    this.#vitest = vitest;
  }

  async onTestRunEnd(modules: readonly TestModule[]): Promise<void> {
    const all = (await this.#vitest?.globTestSpecifications()) ?? [];
    if (modules.length < all.length || this.#vitest?.config.testNamePattern !== undefined) return;
    const { documented } = new Forms(JSON.parse(readFileSync("public/openapi.json", "utf8")));
    for (const module of modules) for (const form of module.meta().forms ?? []) documented.delete(form);
    if (documented.size === 0) return;
    console.error(["Forms of the document that no test has seen:", ...documented].join("\n  "));
    process.exitCode = 1;
  }
}

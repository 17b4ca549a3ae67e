import { inject } from "vitest";
import { type ProductionService, startProductionService } from "../../scripts/production-service.ts";

export type BuiltService = ProductionService;

/** The bundle of this run of the tests. */
export function startBuiltService(): Promise<BuiltService> {
  return startProductionService(inject("bundle"));
}

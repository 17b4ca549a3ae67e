import { afterAll, beforeAll, inject } from "vitest";
import { type ProductionService, startProductionService } from "../../scripts/production-service.ts";

/** The bundle of this test run, in a service of a test file. */
export function useBuiltService(): ProductionService {
  const service = {} as ProductionService;
  beforeAll(async () => void Object.assign(service, await startProductionService(inject("bundle"))));
  afterAll(() => service.harness.close());
  return service;
}

import { afterAll, beforeAll, inject } from "vitest";
import { type ProductionService, startProductionService } from "../../scripts/production-service.ts";
import { expectDocumented } from "../support/contract.ts";

export type BuiltService = ProductionService;

/** The bundle of this test run. */
export function startBuiltService(): Promise<BuiltService> {
  return startProductionService(inject("bundle"));
}

/** One of a test file. */
export function useBuiltService(): BuiltService {
  const service = {} as BuiltService;
  beforeAll(async () => void Object.assign(service, await startBuiltService()));
  afterAll(() => service.harness.close());
  return service;
}

/** Sends a request with a key, and asserts that the document describes the response. */
export async function sendDocumented(
  service: BuiltService,
  path: string,
  init: RequestInit = {},
  key = service.key,
): Promise<Response> {
  const headers = new Headers(init.headers);
  headers.set("Authorization", `Bearer ${key}`);
  const url = new URL(path, service.url);
  const response = await fetch(url, { ...init, headers });
  await expectDocumented(init.method ?? "GET", url.href, response);
  return response;
}

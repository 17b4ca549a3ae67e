import type { OpenAPIObject } from "openapi3-ts/oas31";
import { expect } from "vitest";
import ownDocument from "../../public/openapi.json" with { type: "json" };
import { comparisonWith } from "./comparison.ts";

export const { findOperation, expectDocumented } = contractOf(ownDocument as unknown as OpenAPIObject);

/** Checks the responses of a service against the document of its interface. */
export function contractOf(document: OpenAPIObject) {
  const { findOperation, differencesOf } = comparisonWith(document);

  /** Asserts that the document describes a response. Ignores requests that match no operation of the document. */
  async function expectDocumented(method: string, url: string, answer: Response): Promise<void> {
    const { status, headers } = answer;
    const response = { status, headers, text: await answer.clone().text() };
    const differences = differencesOf(method, new URL(url).pathname, response);
    expect(differences, differences.join("; ")).toEqual([]);
  }

  return { findOperation, expectDocumented };
}

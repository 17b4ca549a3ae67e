import type { OpenAPIObject } from "openapi3-ts/oas31";
import { expect } from "vitest";
import ownDocument from "../../public/openapi.json" with { type: "json" };
import { comparisonWith, type Documented } from "./comparison.ts";
import { Forms } from "./forms.ts";

declare module "vitest" {
  interface TaskMeta {
    /** The forms of the document that the tests of an isolate have seen so far. */
    forms?: string[];
  }
}

const own = ownDocument as unknown as OpenAPIObject;
const forms = new Forms(own);
/** The forms of bodies that the tests of this isolate have seen. */
export const seenForms = new Set<string>();

/** Notes the forms of a body. Returns it. */
export function see<Body>(operation: string, status: number, body: Body): Body {
  forms.see(body, `${operation} ${status}`, (form) => seenForms.add(form));
  return body;
}

export const { findOperation, expectDocumented } = contractOf(own, (operation, { status, text }) => {
  if (status < 300 && /^[[{]/.test(text)) see(operation, status, JSON.parse(text));
});

/** Checks the responses of a service against the document of its interface. */
export function contractOf(document: OpenAPIObject, saw?: (operation: string, response: Documented) => void) {
  const { findOperation, differencesOf } = comparisonWith(document);

  /** Asserts that the document describes a response. Ignores requests that match no operation of the document. */
  async function expectDocumented(method: string, url: string, answer: Response): Promise<void> {
    const { status, headers } = answer;
    const response = { status, headers, text: await answer.clone().text() };
    const { pathname } = new URL(url);
    const differences = differencesOf(method, pathname, response);
    expect(differences, differences.join("; ")).toEqual([]);
    saw?.(findOperation(method, pathname)?.operationId ?? "", response);
  }

  return { findOperation, expectDocumented };
}

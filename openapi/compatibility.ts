// Compares two OpenAPI documents for a client of the older one: the service has to accept what the client sends, and the client has
// to understand what it receives (docs/versioning.md).
import { hasScope, type Scope } from "../src/auth/scopes.ts";
import type { OpenAPIObject, OperationObject, RequestBodyObject } from "openapi3-ts/oas31";
import { compareContent } from "./compatibility/content.ts";
import { compareParameters } from "./compatibility/parameters.ts";
import { compareResponses } from "./compatibility/responses.ts";
import type { Documents } from "./compatibility/schemas.ts";
import { compareStability, stabilityOf } from "./compatibility/stability.ts";
import { operationsOf, resolve, sharedName, show, write } from "./read.ts";

/** Every way in which `current` breaks clients of `released`, as sentences. */
export function findBreakingChanges(released: OpenAPIObject, current: OpenAPIObject): string[] {
  const basePaths = basePathsOf(current);
  const changes = basePathsOf(released)
    .filter((path) => !basePaths.includes(path))
    .map((path) => `${path}: no server has this base path any more, so every request of its clients fails`);
  const operations = operationsOf(current);
  for (const [name, before] of operationsOf(released)) {
    if (stabilityOf(before) === "experimental") continue;
    const after = operations.get(name);
    if (after === undefined) changes.push(`${name}: the operation is gone, so its clients fail`);
    else changes.push(...compareOperations({ released, current }, name, before, after));
  }
  // A component is compared wherever it is used, which gives equal sentences.
  return [...new Set(changes)];
}

/** The operator chooses the hosts. */
function basePathsOf({ servers = [{ url: "/" }] }: OpenAPIObject): string[] {
  return servers.map(({ url }) => new URL(url, "https://host.example").pathname);
}

function compareOperations(
  documents: Documents,
  name: string,
  before: OperationObject,
  after: OperationObject,
): string[] {
  return [
    ...compareStability(name, stabilityOf(before), stabilityOf(after)),
    ...compareAccess(documents, name, before, after),
    ...compareParameters(documents, name, before, after),
    ...compareRequestBodies(documents, name, before, after),
    ...compareResponses(documents, name, before, after),
  ];
}

/** Compares the operationId, and the scope and the authentication that a caller needs. */
function compareAccess(
  { released, current }: Documents,
  name: string,
  before: OperationObject,
  after: OperationObject,
): string[] {
  const changes: string[] = [];
  const [id, newId] = [before.operationId, after.operationId];
  if (id !== newId) {
    changes.push(`${name}: operationId was ${show(id)} and is now ${show(newId)}, so generated clients rename it`);
  }
  const [scope, newScope] = [before, after].map((operation) => operation["x-required-scope"] as Scope | undefined);
  const isIncluded = scope !== undefined && newScope !== undefined && hasScope([scope], newScope);
  if (newScope !== undefined && scope !== newScope && !isIncluded) {
    changes.push(
      `${name}: x-required-scope was ${show(scope)} and is now ${show(newScope)}, so keys without the new one are refused`,
    );
  }
  if (authenticationOf(released, before) !== authenticationOf(current, after)) {
    changes.push(`${name}: callers authenticate in another way, so clients of the old one may be refused`);
  }
  return changes;
}

/** The alternatives of `security`, with the kind of each scheme. */
function authenticationOf(document: OpenAPIObject, { security = [] }: OperationObject): string {
  const schemes = document.components?.securitySchemes ?? {};
  const kindOf = (name: string) => {
    const item = schemes[name];
    const { type, scheme, in: place, name: field } = item === undefined ? {} : resolve(document, item);
    return [name, type, scheme, place, field];
  };
  return write(security.map((alternative) => Object.keys(alternative).map(kindOf)));
}

function compareRequestBodies(
  documents: Documents,
  name: string,
  before: OperationObject,
  after: OperationObject,
): string[] {
  const none: RequestBodyObject = { content: {} };
  const body = resolve(documents.released, before.requestBody ?? none);
  const newBody = resolve(documents.current, after.requestBody ?? none);
  const place = sharedName(before.requestBody, after.requestBody) ?? `${name}, request body`;
  const changes = compareContent({ ...documents, direction: "request" }, place, body.content, newBody.content);
  if (newBody.required && !body.required) {
    changes.push(`${name}: a request body is now required, so requests without one are refused`);
  }
  return changes;
}

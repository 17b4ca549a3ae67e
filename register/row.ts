// One row for an operation: what the suites, the tables and the reference know of it beside its code and its description.
import type { PetStore } from "../client/src/index.ts";
import type { operations } from "../client/src/schema.ts";
import type { Scope } from "../src/auth/scopes.ts";
import type { CostRow } from "./cost.ts";
import type { Once } from "./once.ts";
import type { Simulated } from "./simulated.ts";

/** The operations of the document. Its deliveries are of receivers. */
export type OperationId = Exclude<keyof operations, `receive${string}`>;

interface Every {
  /** Written by hand, because everything else takes it from the guard. Undefined if every key may use the operation. */
  scope: Scope | undefined;
  /** What its tool at `/mcp` does, and arguments of a call that succeeds. By hand too, as which operations have none. */
  tool: "hidden" | readonly [kind: "read" | "add" | "change", args: object];
  /** A call of the client. The reference shows its text, and the client has to send the operation. */
  sample: (store: PetStore) => Promise<void>;
  /** What its requests cost, by their names. test/cost.test.ts sends them in the order of the rows. One has to succeed. */
  costs: { [request: string]: CostRow };
  /** A call of programs in the simulated worlds. test/world/deliveries.ts judges the operations of webhooks, and test/world/listeners.ts the live feed. */
  world: Simulated | "deliveries" | "listeners";
}

type Operation<Id extends OperationId> = operations[Id];
type HeadersOf<Id extends OperationId> = NonNullable<Operation<Id>["parameters"]["header"]>;
type IdsWithBody = { [Id in OperationId]: Operation<Id> extends { requestBody: object } ? Id : never }[OperationId];
type IdsWithKey = {
  [Id in OperationId]: [HeadersOf<Id>] extends [{ "Idempotency-Key"?: string }]
    ? "Idempotency-Key" extends keyof HeadersOf<Id>
      ? Id
      : never
    : never;
}[Exclude<OperationId, { [Id in OperationId]: [HeadersOf<Id>] extends [never] ? Id : never }[OperationId]>];

interface OfBody {
  /** A body that gets the message of the document for a 400. */
  invalid: object;
}

interface OfKey extends OfBody {
  /** The requests that happen once under an `Idempotency-Key`. */
  once: readonly [Once, ...Once[]];
}

/** The row of an operation. What its parameters and its body ask for does not compile without it. */
export type Row<Id extends OperationId = OperationId> = Every &
  (Id extends IdsWithKey ? OfKey : Partial<Record<"once", undefined>>) &
  (Id extends IdsWithBody ? OfBody : Partial<Record<"invalid", undefined>>);

export type Rows = { [Id in OperationId]?: Row<Id> };

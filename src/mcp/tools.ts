import type { AppEnv } from "../env.ts";
import { serviceUnavailable } from "../errors.ts";
import type { Scope } from "../auth/scopes.ts";
import { ASSETS_ORIGIN } from "../http/documentation.ts";

/** The part of JSON Schema that the arguments of a tool use. */
export interface Schema {
  readonly type?: string | readonly string[];
  readonly description?: string;
  readonly enum?: readonly string[];
  /** Of an int64 alone, which is a string of digits. */
  readonly pattern?: string;
  readonly properties?: { readonly [name: string]: Schema };
  readonly required?: readonly string[];
  readonly items?: Schema;
  readonly maxItems?: number;
  readonly [keyword: string]: unknown;
}

/** An operation as a tool. openapi/tools.ts makes it from the document. */
export interface Tool {
  /** Undefined if every key may use it. */
  readonly scope?: Scope;
  readonly method: string;
  /** With the names of its parameters: `/v1/store/orders/{orderId}`. */
  readonly path: string;
  /** The arguments that are parameters of the query. */
  readonly query: readonly string[];
  /** An array is the argument `items`, and the fields of an object are arguments. Undefined without a body. */
  readonly body?: "array" | "object";
  /** Why a value is refused that the operation would take, by argument and value. */
  readonly refused?: { readonly [argument: string]: { readonly [value: string]: string } };
  /** As agents see it. */
  readonly definition: {
    readonly name: string;
    readonly title: string;
    readonly description: string;
    readonly inputSchema: Schema;
    readonly annotations: object;
  };
}

export interface Tools {
  readonly instructions: string;
  readonly tools: readonly Tool[];
}

/** The asset, which no route serves. */
export const TOOLS_FILE = "tools.json";

/** The value and no promise: a request must not wait for the reading of another one. */
let known: Tools | undefined;

/**
 * The tools, read once in an isolate.
 *
 * @throws ApiError `service_unavailable` when the asset cannot be read.
 */
export async function toolsOf({ ASSETS }: AppEnv["Bindings"]): Promise<Tools> {
  if (known !== undefined) return known;
  try {
    const response = await ASSETS.fetch(`${ASSETS_ORIGIN}/${TOOLS_FILE}`);
    if (!response.ok) throw new Error(`${TOOLS_FILE}: ${response.status}`);
    return (known = await response.json<Tools>());
  } catch (cause) {
    throw serviceUnavailable(cause);
  }
}

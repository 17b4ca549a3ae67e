/** A request with the parameters of its path, which are decoded. */
export interface Call {
  params: Record<string, string>;
  query: URLSearchParams;
  body: Response;
}

export interface Route {
  method: string;
  path: URLPattern;
  /** Returns the `result` of the response, or the whole response. Throws a Refusal for an error. */
  answer: (call: Call) => unknown;
}

/** An error as Cloudflare's API returns it. */
export class Refusal extends Error {
  readonly status: number;
  readonly code: number;
  readonly headers: Record<string, string>;

  constructor(status: number, code: number, message: string, headers: Record<string, string> = {}) {
    super(message);
    this.status = status;
    this.code = code;
    this.headers = headers;
  }
}

/** A page of HTML in the place of a response of the API, as something between may send it. */
export class Page {
  readonly status: number;

  constructor(status: number) {
    this.status = status;
  }
}

/**
 * What becomes of a request that meets a fault: a response that is an error, `cut`: no response, and no effect; `lost`: the effect, and no
 * response; `late`: both, after a while.
 */
export type Effect = Refusal | Page | "cut" | "lost" | "late";

/** Routes from lines of `"METHOD /path/:parameter": answer`. */
export function routes(table: Record<string, Route["answer"]>): Route[] {
  return Object.entries(table).map(([line, answer]) => {
    const [method = "", pathname = ""] = line.split(" ");
    return { method, path: new URLPattern({ pathname }), answer };
  });
}

/** A value that a request needs. */
export function found<Value>(value: Value | undefined, status: number, code: number, message: string): Value {
  if (value === undefined) throw new Refusal(status, code, message);
  return value;
}

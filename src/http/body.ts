import type { Context, MiddlewareHandler } from "hono";
import type * as z from "zod/mini";
import { authenticateRequest } from "./authentication.ts";
import type { AppEnv } from "../env.ts";
import { ApiError } from "../errors.ts";
import { parseExact } from "../exact/json.ts";
import { lazy } from "../lazy.ts";
import { fieldsOf, ignoredFields } from "./ignored-fields.ts";
import { invalid, type Validator } from "./validation.ts";

/** Maximum number of bytes in a request body. */
export const MAX_BODY_BYTES = 64 * 1024;

/** Milliseconds in which a body has to be complete, so that slow clients cannot occupy the isolate. */
export const BODY_TIMEOUT_MILLISECONDS = 10_000;

/** A media type of a body, with or without parameters (RFC 9110, section 8.3.1). */
interface MediaTypes {
  names: readonly string[];
  expression: RegExp;
}
export const JSON_BODY: MediaTypes = {
  names: ["application/json"],
  expression: /^application\/json[\t ]*(?:;|$)/i,
};
/** The media types of a JSON merge patch (RFC 7396). */
export const MERGE_PATCH: MediaTypes = {
  names: ["application/merge-patch+json", "application/json"],
  expression: /^application\/(?:merge-patch\+)?json[\t ]*(?:;|$)/i,
};

/** The only accepted content coding (RFC 9110, section 12.5.3). A compressed body could expand to any size. */
const IDENTITY = "identity";

const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: false });

/**
 * Validates a JSON body with exact integers. Hono's own JSON validator rounds them and accepts malformed UTF-8.
 *
 * Responds with `unauthorized` when the key expires or is revoked while the body arrives.
 *
 * @throws ApiError `unsupported_media_type`, `payload_too_large`, `request_timeout`, `invalid_request`.
 */
export function jsonBody<Schema extends z.ZodMiniType>(
  schema: () => Schema,
  mediaTypes = JSON_BODY,
): Validator<"json", Schema> & { readonly mediaTypes: readonly string[] } {
  const known = lazy(() => fieldsOf(schema()));
  const middleware: MiddlewareHandler<AppEnv> = async (c, next) => {
    const bytes = await receiveBody(c, mediaTypes);
    if (bytes instanceof Response) return bytes;
    if (bytes.byteLength === 0) throw new ApiError("invalid_request", "The request needs a JSON body.");
    const body = parse(bytes);
    const result = schema().safeParse(body);
    if (!result.success) throw invalid(result.error.issues);
    const ignored = ignoredFields(known(), body as object);
    if (ignored !== undefined) c.get("headers")["Ignored-Fields"] = ignored;
    c.req.addValidatedData("json", result.data as object);
    return await next();
  };
  return Object.assign(middleware, { target: "json" as const, schema, mediaTypes: mediaTypes.names });
}

/**
 * The bytes of a body of one of these media types. Returns the response with `unauthorized` when the key expires or is revoked while the
 * body arrives.
 *
 * @throws ApiError `unsupported_media_type`, `payload_too_large`, `request_timeout`, and `invalid_request` for a body that ends too early.
 */
export async function receiveBody(c: Context<AppEnv>, mediaTypes: MediaTypes): Promise<Uint8Array | Response> {
  const { headers } = c.req.raw;
  if ((headers.get("Content-Encoding") ?? IDENTITY).toLowerCase() !== IDENTITY) throw unsupportedCoding(c);
  const mediaType = headers.get("Content-Type");
  // A missing body is a 400, so the media type is checked only when there is a body.
  if (mediaType !== null && !mediaTypes.expression.test(mediaType)) throw unsupportedMediaType(c, mediaTypes);
  const start = Date.now();
  const bytes = await readBody(c.req.raw, headers.get("Content-Length"));
  // The key may expire or be revoked while a slow client sends the body.
  if (Date.now() !== start) {
    const key = await authenticateRequest(c);
    if (key instanceof Response) return key;
  }
  if (bytes.byteLength > 0 && mediaType === null) throw unsupportedMediaType(c, mediaTypes);
  return bytes;
}

/**
 * The bytes of a body, up to the limit. Hono's body-limit leaves the stream of a larger body locked, so that the lingering close
 * could not read the rest. It also cannot tell a client that hung up from a bug.
 */
function readBody(request: Request, length: string | null): Promise<Uint8Array> {
  // The announced length exceeds the limit.
  if (Number(length) > MAX_BODY_BYTES) throw tooLarge();
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(tooSlow()), BODY_TIMEOUT_MILLISECONDS);
    // Content-Length bounds the body, so it may be read at once.
    const reading: Promise<Uint8Array | undefined> = length === null ? readChunks(request) : request.bytes();
    // Not `finally`, which makes four more promises.
    reading.then(
      (bytes) => {
        clearTimeout(timer);
        return bytes === undefined || bytes.byteLength > MAX_BODY_BYTES ? reject(tooLarge()) : resolve(bytes);
      },
      () => {
        clearTimeout(timer);
        reject(new ApiError("invalid_request", "The request body ended too early."));
      },
    );
  });
}

/**
 * Returns undefined when the body exceeds the limit, and leaves the rest in the stream. Reads once, however small the chunks
 * are: one read per chunk would let a client ask for one per byte.
 */
async function readChunks({ body }: Request): Promise<Uint8Array | undefined> {
  if (body === null) return new Uint8Array();
  const reader = body.getReader({ mode: "byob" });
  const { value } = await reader.readAtLeast(MAX_BODY_BYTES + 1, new Uint8Array(MAX_BODY_BYTES + 1));
  reader.releaseLock();
  return value === undefined || value.byteLength <= MAX_BODY_BYTES ? (value ?? new Uint8Array()) : undefined;
}

function tooSlow(): ApiError {
  const seconds = BODY_TIMEOUT_MILLISECONDS / 1_000;
  return new ApiError("request_timeout", `The request body was not complete within ${seconds} seconds.`);
}

function tooLarge(): ApiError {
  return new ApiError("payload_too_large", `The request body is larger than ${MAX_BODY_BYTES} bytes.`);
}

/** The headers list the media types: one for every method (RFC 9110, section 15.5.16), and the one of its own. */
function unsupportedMediaType(c: Context<AppEnv>, { names }: MediaTypes): ApiError {
  const accepted = names.join(", ");
  Object.assign(c.get("headers"), { Accept: accepted, [acceptHeader(c.req.method)]: accepted });
  return new ApiError("unsupported_media_type", `The request body has to be ${names.join(" or ")}.`);
}

/** The header with the media types of a method: RFC 5789, section 3.1, and the Linked Data Platform 1.0, section 7.1. */
export const acceptHeader = (method: string) => (method === "PATCH" ? "Accept-Patch" : "Accept-Post");

/** The response lists the codings that the service accepts (RFC 9110, section 12.5.3). */
function unsupportedCoding(c: Context<AppEnv>): ApiError {
  c.get("headers")["Accept-Encoding"] = IDENTITY;
  return new ApiError("unsupported_media_type", "The request body has to be sent without a Content-Encoding.");
}

/** @throws ApiError `invalid_request` for anything but JSON in UTF-8. */
export function parse(bytes: Uint8Array): unknown {
  try {
    return parseExact(utf8.decode(bytes));
  } catch {
    throw new ApiError("invalid_request", "The request body is not well-formed JSON in UTF-8.");
  }
}

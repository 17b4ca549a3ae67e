import type { MiddlewareHandler } from "hono";
import { bodyLimit } from "hono/body-limit";
import type { AppEnv } from "../env.ts";
import { ApiError } from "../errors.ts";
import { parseExact } from "./json.ts";

/** Bytes of a request body. */
const MAX_BODY_BYTES = 64 * 1024;

/** `application/json`, with or without parameters (RFC 9110, section 8.3.1). */
const JSON_MEDIA_TYPE = /^application\/json[\t ]*(?:;|$)/i;

const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: false });

const tooLarge = () => new ApiError("payload_too_large", `The request body is larger than ${MAX_BODY_BYTES} bytes.`);

const limitBody = bodyLimit({
  maxSize: MAX_BODY_BYTES,
  onError: () => {
    throw tooLarge();
  },
});

/**
 * Reads a JSON body with exact integers. Hono's validators read a body through `c.req.json()`, which rounds them and lets
 * malformed UTF-8 pass; for this request it then answers what was read here.
 */
export const jsonBody: MiddlewareHandler<AppEnv> = async (c, next) => {
  const mediaType = c.req.header("Content-Type");
  if (mediaType !== undefined && !JSON_MEDIA_TYPE.test(mediaType)) throw unsupportedMediaType();
  return limitBody(c, async () => {
    const bytes = await c.req.arrayBuffer();
    // Content-Length may lie where HTTP itself does not bound the body by it.
    if (bytes.byteLength > MAX_BODY_BYTES) throw tooLarge();
    if (bytes.byteLength === 0) throw new ApiError("invalid_request", "The request needs a JSON body.");
    if (mediaType === undefined) throw unsupportedMediaType();
    const body = parse(bytes);
    c.req.json = async () => body as never;
    await next();
  });
};

function unsupportedMediaType(): ApiError {
  return new ApiError("unsupported_media_type", "The request body has to be application/json.");
}

function parse(bytes: ArrayBuffer): unknown {
  try {
    return parseExact(utf8.decode(bytes));
  } catch {
    throw new ApiError("invalid_request", "The request body is not well-formed JSON in UTF-8.");
  }
}

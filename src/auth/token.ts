import type { AppEnv } from "../env.ts";
import { IsolateCache } from "../isolate-cache.ts";
import { lazy } from "../lazy.ts";
import { LOCAL_TOKEN_SECRET } from "../local-api-key.ts";
import type { Environment } from "./key-format.ts";
import type { CustomerScope } from "./scopes.ts";

// A customer token is `petstore_<environment>_t_<payload>.<mac>`, the last two in base64url without padding. The MAC is the HMAC-SHA-256 of
// everything before the dot. There is one algorithm, so a token does not name it.

/** Maximum number of characters of a token. */
export const MAX_TOKEN_LENGTH = 1_024;
/** Minimum number of characters of the secret. */
export const MIN_SECRET_LENGTH = 32;
/** Maximum number of verified tokens that an isolate remembers. */
export const MAX_VERIFIED_TOKENS = 1_000;

/** What a token says. */
export interface Claims {
  /** The SHA-256 of the key that created the token, in hexadecimal. */
  keyHash: string;
  /** Names the token in the log. Not a secret. */
  id: string;
  /** In seconds since the epoch. */
  expiresAt: number;
  scopes: readonly CustomerScope[];
  customer: string;
  /** The number of placed orders that the customer may have. */
  maxPlaced: number;
}

type Payload = [
  keyHash: string,
  id: string,
  expiresAt: number,
  scopes: readonly CustomerScope[],
  customer: string,
  maxPlaced: number,
];
/** The elements of a payload. One with more is of a version that may restrict the token further. */
const PAYLOAD_LENGTH = 6;

const HMAC = { name: "HMAC", hash: "SHA-256" };
const BASE64URL = { alphabet: "base64url", omitPadding: true } as const;
const utf8 = new TextEncoder();

const prefixOf = (environment: Environment) => `petstore_${environment}_t_`;

/** Whether a bearer token has the prefix and at most the length of a customer token of this environment. No key has the prefix. */
export const isTokenOf = (environment: Environment, token: string): boolean =>
  token.length <= MAX_TOKEN_LENGTH && token.startsWith(prefixOf(environment));

/** The secret of the environment. Undefined if it has none, or a short one. The public one of local development is good nowhere else. */
export function tokenSecret({ ENVIRONMENT, TOKEN_SECRET }: AppEnv["Bindings"]): string | undefined {
  const secret = TOKEN_SECRET ?? (ENVIRONMENT === "local" ? LOCAL_TOKEN_SECRET : "");
  return secret.length >= MIN_SECRET_LENGTH ? secret : undefined;
}

/** A secret, with what depends on it. An isolate has one secret. */
class Signer {
  readonly secret: string;
  readonly key: () => Promise<CryptoKey>;
  /** By token. Only good ones, so that a flood of bad ones evicts none. */
  readonly verified = new IsolateCache<Claims>(MAX_VERIFIED_TOKENS);

  constructor(secret: string) {
    this.secret = secret;
    this.key = lazy(() => crypto.subtle.importKey("raw", utf8.encode(secret), HMAC, false, ["sign", "verify"]));
  }
}
let last: Signer | undefined;

function signerOf(secret: string): Signer {
  if (last?.secret !== secret) last = new Signer(secret);
  return last;
}

/** Creates a token. */
export async function signToken(secret: string, environment: Environment, claims: Claims): Promise<string> {
  const { keyHash, id, expiresAt, scopes, customer, maxPlaced } = claims;
  const payload: Payload = [keyHash, id, expiresAt, scopes, customer, maxPlaced];
  const signed = prefixOf(environment) + utf8.encode(JSON.stringify(payload)).toBase64(BASE64URL);
  const mac = await crypto.subtle.sign("HMAC", await signerOf(secret).key(), utf8.encode(signed));
  return `${signed}.${new Uint8Array(mac).toBase64(BASE64URL)}`;
}

/**
 * What a token of this environment says. Undefined for one that was not signed with the secret, is spelt in another way, or has expired.
 *
 * @param token of which `isTokenOf` is true.
 */
export async function verifyToken(
  secret: string,
  environment: Environment,
  token: string,
): Promise<Claims | undefined> {
  const signer = signerOf(secret);
  const claims = signer.verified.get(token, Infinity)?.value ?? (await readToken(signer, environment, token));
  return claims !== undefined && Date.now() < claims.expiresAt * 1_000 ? claims : undefined;
}

async function readToken(signer: Signer, environment: Environment, token: string): Promise<Claims | undefined> {
  const dot = token.lastIndexOf(".");
  const signed = token.slice(0, dot);
  const mac = decode(token.slice(dot + 1));
  if (mac === undefined || !(await crypto.subtle.verify("HMAC", await signer.key(), mac, utf8.encode(signed))))
    return undefined;
  const bytes = decode(signed.slice(prefixOf(environment).length));
  // The service signed it, so it is JSON.
  const payload = JSON.parse(new TextDecoder().decode(bytes)) as Payload;
  if (payload.length !== PAYLOAD_LENGTH) return undefined;
  const [keyHash, id, expiresAt, scopes, customer, maxPlaced] = payload;
  const claims = { keyHash, id, expiresAt, scopes, customer, maxPlaced };
  signer.verified.set(token, claims, Date.now());
  return claims;
}

/** The bytes of base64url in its one canonical spelling. `fromBase64` accepts others: padding, white space or stray bits. */
function decode(text: string): Uint8Array<ArrayBuffer> | undefined {
  try {
    const bytes = Uint8Array.fromBase64(text, { alphabet: "base64url" });
    return bytes.toBase64(BASE64URL) === text ? bytes : undefined;
  } catch {
    return undefined;
  }
}

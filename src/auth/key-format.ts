import { crc32 } from "../hash/crc32.ts";

// An API key is `petstore_<environment>_<random characters><checksum>`, the last two in base 62. Checksum and environment are
// checked before any read of storage, so typos, garbage and keys of another environment cost no read.

export type Environment = Env["ENVIRONMENT"];

const ALPHABET = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
export const RANDOM_LENGTH = 30;
/** 62^6 > 2^32: six characters hold every CRC-32. */
export const CHECKSUM_LENGTH = 6;
const utf8 = new TextEncoder();
export const SECRET_LENGTH = RANDOM_LENGTH + CHECKSUM_LENGTH;
const SECRET = /^[0-9A-Za-z]+$/;

/** Whether `key` has the prefix and the length of a key of this environment. Checks the length first. */
export function isKeyOf(environment: Environment, key: string): boolean {
  const prefix = `petstore_${environment}_`;
  return key.length === prefix.length + SECRET_LENGTH && key.startsWith(prefix);
}

/** Whether `key` is a key of this environment with a valid checksum. It may still be unknown. */
export function isWellFormedKey(key: string, environment: Environment): boolean {
  return (
    isKeyOf(environment, key) &&
    SECRET.test(key.slice(-SECRET_LENGTH)) &&
    key.endsWith(checksum(key.slice(0, -CHECKSUM_LENGTH)))
  );
}

/** A new key. */
export function generateKey(environment: Environment): string {
  const key = `petstore_${environment}_${randomBase62(RANDOM_LENGTH)}`;
  return key + checksum(key);
}

/** Characters from the platform's secure random source, each of the 62 as likely as the others. */
export function randomBase62(length: number): string {
  let random = "";
  while (random.length < length) {
    for (const byte of crypto.getRandomValues(new Uint8Array(length))) {
      // 248 is the largest multiple of 62 in a byte. The bytes above it, modulo 62, would favour the first eight characters.
      if (byte < 248 && random.length < length) random += ALPHABET[byte % ALPHABET.length];
    }
  }
  return random;
}

function checksum(text: string): string {
  let rest = crc32(utf8.encode(text));
  let encoded = "";
  for (let i = 0; i < CHECKSUM_LENGTH; i++) {
    encoded = ALPHABET[rest % ALPHABET.length] + encoded;
    rest = Math.floor(rest / ALPHABET.length);
  }
  return encoded;
}

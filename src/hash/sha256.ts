// A table, because the operators' scripts use this function too, and Node.js 24.21.0 has no Uint8Array.prototype.toHex.
const HEX = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, "0"));
const utf8 = new TextEncoder();

/** The SHA-256 of a text in UTF-8, as 64 hexadecimal digits. */
export async function sha256(text: string): Promise<string> {
  const digest = await crypto.subtle.digest("SHA-256", utf8.encode(text));
  let hex = "";
  for (const byte of new Uint8Array(digest)) hex += HEX[byte];
  return hex;
}

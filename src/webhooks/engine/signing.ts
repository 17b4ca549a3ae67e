/** Bytes of a secret. */
const SECRET_BYTES = 32;
const PREFIX = "whsec_";
const utf8 = new TextEncoder();

export interface Secrets {
  newest: string;
  /** The one before, and until when it signs too. */
  previous?: { secret: string; until: number };
}

/** A new secret, in the form of Standard Webhooks 1.0: `whsec_` and base64. */
export const newSecret = (): string => PREFIX + crypto.getRandomValues(new Uint8Array(SECRET_BYTES)).toBase64();

/**
 * The value of `webhook-signature`: HMAC-SHA256 of `<id>.<timestamp>.<body>` in base64, once for each secret, separated by spaces
 * (Standard Webhooks 1.0).
 *
 * @param timestamp in seconds since the epoch.
 */
export async function sign(secrets: readonly string[], id: string, timestamp: number, body: string): Promise<string> {
  const content = utf8.encode(`${id}.${timestamp}.${body}`);
  const signatures = secrets.map(async (secret) => {
    const bytes = Uint8Array.fromBase64(secret.slice(PREFIX.length));
    const key = await crypto.subtle.importKey("raw", bytes, { name: "HMAC", hash: "SHA-256" }, false, ["sign"]);
    return `v1,${new Uint8Array(await crypto.subtle.sign("HMAC", key, content)).toBase64()}`;
  });
  return (await Promise.all(signatures)).join(" ");
}

/** The secrets that sign at a time, the newest first. */
export const secretsAt = ({ newest, previous }: Secrets, now: number): string[] =>
  previous !== undefined && now < previous.until ? [newest, previous.secret] : [newest];

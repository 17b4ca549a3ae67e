import { isDenied } from "./denied-hosts.ts";

/** Maximum number of characters of an address. */
export const MAX_URL_CHARACTERS = 2_000;
/** Two labels or more. The last one begins with a letter, so that no IP address passes, in any notation. */
const PUBLIC_HOST = /^(?:[a-z0-9-]{1,63}\.)+[a-z][a-z0-9-]{0,62}$/;
const MAX_HOST_CHARACTERS = 253;
/**
 * Last labels of names that are not on the public internet, by their source. `example.com` is: RFC 6761, section 6.5, asks software to
 * take it like any other name.
 */
const PRIVATE = new Set(
  [
    // RFC 6761, section 6. All of `arpa` is for infrastructure, `home.arpa` of RFC 8375 among it.
    ["example", "invalid", "localhost", "test", "arpa"],
    // RFC 6762, section 3 and appendix G.
    ["local", "corp", "home", "intranet", "lan", "private"],
    // RFC 6762, appendix G. ICANN has reserved it for private use since (SAC113).
    ["internal"],
    // RFC 7686 and RFC 9476.
    ["onion", "alt"],
    // Names that container platforms and machines give themselves.
    ["localdomain", "svc", "cluster", "docker"],
  ].flat(),
);
const LOOPBACK = /^(?:127\.0\.0\.1|localhost)$/;

/** The settings that decide which addresses may receive deliveries. */
export type AddressSettings = Pick<Env, "ENVIRONMENT"> & { WEBHOOK_DENIED_HOSTS?: string };

/**
 * The address of a receiver in the form of `URL.href`, or undefined for one that may not receive deliveries. The rule looks at what
 * `fetch` will connect to: `new URL` turns `0x7f.1` and full-width digits into 127.0.0.1.
 */
export function receiverUrl(
  text: string,
  { ENVIRONMENT, WEBHOOK_DENIED_HOSTS = "" }: AddressSettings,
): string | undefined {
  if (text.length > MAX_URL_CHARACTERS || !URL.canParse(text)) return undefined;
  const { protocol, username, password, hostname, port, href } = new URL(text);
  if (username !== "" || password !== "" || href.includes("#") || href.length > MAX_URL_CHARACTERS) return undefined;
  if (ENVIRONMENT === "local" && protocol === "http:" && LOOPBACK.test(hostname)) return href;
  const isPublic =
    PUBLIC_HOST.test(hostname) &&
    hostname.length <= MAX_HOST_CHARACTERS &&
    !PRIVATE.has(hostname.slice(hostname.lastIndexOf(".") + 1));
  return protocol === "https:" && port === "" && isPublic && !isDenied(hostname, WEBHOOK_DENIED_HOSTS)
    ? href
    : undefined;
}

/** The name of the scheme is case-insensitive, and one space or more follows it (RFC 9110, sections 11.1 and 11.4). */
const SCHEME = /^bearer +/i;
/** Maximum number of characters for the scheme and the spaces after it. */
const MAX_SCHEME_LENGTH = 100;

/**
 * The token of an `Authorization: Bearer <token>` header, or undefined when there is none. Its time does not depend on the
 * length of the header, because it runs before the caller is authenticated.
 */
export function bearerToken(authorization: string): string | undefined {
  const scheme = SCHEME.exec(authorization.slice(0, MAX_SCHEME_LENGTH))?.[0];
  return scheme === undefined || scheme.length === authorization.length
    ? undefined
    : authorization.slice(scheme.length);
}

/** A number from 0 to 1, in decimal digits. */
const SHARE = /^(?:0(?:\.\d+)?|1(?:\.0+)?)$/;

/** `LOG_SUCCESS_SHARE`, or undefined for anything but a number from 0 to 1. */
export function parseShare(setting: unknown): number | undefined {
  return SHARE.test(String(setting)) ? Number(setting) : undefined;
}

/** The setting as parsed: an isolate parses it once. */
let known: { setting: unknown; share: number } = { setting: undefined, share: 1 };

/**
 * The number of requests that a log line represents, or undefined when the line is not written.
 *
 * @param status of the response. Every failure is logged.
 * @param setting `LOG_SUCCESS_SHARE`: the share of the other requests that is logged. Anything but a number from 0 to 1 counts
 *   as 1, so that a mistake in the setting does not lose lines.
 */
export function weightOf(status: number, setting: unknown): number | undefined {
  if (status >= 400) return 1;
  if (known.setting !== setting) known = { setting, share: parseShare(setting) ?? 1 };
  const { share } = known;
  return share === 1 || Math.random() < share ? 1 / share : undefined;
}

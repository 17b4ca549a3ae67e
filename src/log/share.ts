/** A number from 0 to 1, in decimal digits. */
const SHARE = /^(?:0(?:\.\d+)?|1(?:\.0+)?)$/;

/** The setting that was read last: an isolate reads it once. */
let known: { setting: unknown; share: number } = { setting: undefined, share: 1 };

/**
 * The number of requests that the line of a request stands for, or undefined when the line is not to be written.
 *
 * @param status of the response. Every failure is written.
 * @param setting `LOG_SUCCESS_SHARE`: the share of the other requests that is written. Anything but a number from 0 to 1 stands for 1:
 *   a mistake in it must not lose lines.
 */
export function weightOf(status: number, setting: unknown): number | undefined {
  if (status >= 400) return 1;
  if (known.setting !== setting) known = { setting, share: SHARE.test(String(setting)) ? Number(setting) : 1 };
  const { share } = known;
  return share === 1 || Math.random() < share ? 1 / share : undefined;
}

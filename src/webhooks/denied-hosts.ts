/** A name of one label or more, as `URL.hostname` has it. An umlaut, a wildcard, a port and a trailing dot are no part of one. */
const NAME = /^(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.)*[a-z](?:[a-z0-9-]{0,61}[a-z0-9])?$/;

/**
 * The names in the setting `WEBHOOK_DENIED_HOSTS`, which are separated by commas.
 *
 * @returns undefined for a setting with anything else.
 */
export function parseDeniedHosts(setting: string): string[] | undefined {
  const parts = setting.toLowerCase().split(",");
  const names = parts.map((part) => part.trim()).filter((name) => name !== "");
  return names.every((name) => NAME.test(name)) ? names : undefined;
}

/** Whether a host is one of the names, or below one. A setting that is not understood denies all: a denied host may be in it. */
export function isDenied(host: string, setting: string): boolean {
  const names = parseDeniedHosts(setting);
  return names === undefined || names.some((name) => host === name || host.endsWith(`.${name}`));
}

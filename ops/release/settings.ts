import { parseReadMaxAge } from "../../src/http/max-age.ts";
import { parseStoredMib } from "../../src/auth/rate-limit.ts";
import { parseLiveObjects } from "../../src/live/setting.ts";
import { parseShare } from "../../src/log/share.ts";
import { parseDeniedHosts } from "../../src/webhooks/denied-hosts.ts";
import type { Target } from "./target.ts";

/** Origins as browsers send them (Fetch, section 3.1), separated by commas. */
const ORIGINS = /^(?:https?:\/\/[a-z0-9.:[\]-]+(?:, *(?!$)|$))*$/;

/** What the service understands in each text of `[vars]`. It has a safe answer to anything else, which nobody would notice. */
const SETTINGS: { [name: string]: (value: string, env: string) => boolean } = {
  ENVIRONMENT: (value, env) => value === env,
  LOG_SUCCESS_SHARE: (value) => parseShare(value) !== undefined,
  READ_MAX_AGE: (value) => parseReadMaxAge(value) !== undefined,
  READS: (value) => value === "nearest" || value === "primary",
  EVENT_DAYS: (value) => /^[1-9]\d{0,3}$/.test(value),
  MCP_ORIGINS: (value) => ORIGINS.test(value),
  STORED_MIB: (value) => parseStoredMib(value) !== undefined,
  WEBHOOK_DENIED_HOSTS: (value) => parseDeniedHosts(value) !== undefined,
  LIVE_OBJECTS: (value) => value === "0" || parseLiveObjects(value) > 0,
  CONSOLE: (value) => value === "on" || value === "off",
};

/** @throws Error for a setting that the service does not understand, that it does not know, or that is missing. */
export function refuseSettings({ env, configuration: { vars = {} } }: Target): void {
  for (const name of new Set([...Object.keys(SETTINGS), ...Object.keys(vars)])) {
    const value = vars[name];
    if (typeof value === "string" && SETTINGS[name]?.(value, env)) continue;
    const problem =
      value === undefined ? "is missing" : `is ${JSON.stringify(value)}, which the service does not understand`;
    throw new Error(`${name} ${problem}: [env.${env}.vars] in wrangler.toml, docs/operations.md.`);
  }
}

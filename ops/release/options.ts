import { InvalidArgumentError, Option } from "commander";
import { refuseOption } from "../program.ts";

export type DeployedEnvironment = "staging" | "production";

/** The options that release and rollback share. */
export interface TargetOptions {
  env: DeployedEnvironment;
  url?: URL;
  /** Seconds. */
  wait: number;
  yes?: true;
}

/** Seconds. A deployment takes some to reach every location, and a new key may take more than a minute. */
export const DEFAULT_WAIT = 120;
const MAX_WAIT = 600;

export function targetOptions(): Option[] {
  return [
    new Option("--env <environment>").choices(["staging", "production"]).makeOptionMandatory(),
    new Option("--yes", "Changes production without asking."),
    ...smokeTestOptions(),
  ];
}

export function smokeTestOptions(): Option[] {
  return [
    new Option("--url <address>", "Where the service is, if not at its own address.").argParser(toAddress),
    new Option("--wait <seconds>", "How long to wait for a deployment or a new key to arrive.")
      .argParser(toSeconds)
      .default(DEFAULT_WAIT),
  ];
}

/** @throws InvalidArgumentError unless it is https, or http on this machine: an API key may be sent there. */
export function toAddress(value: string): URL {
  const url = URL.parse(value);
  const local = ["localhost", "127.0.0.1", "[::1]"];
  if (url?.protocol === "https:" || (url?.protocol === "http:" && local.includes(url.hostname))) return url;
  throw new InvalidArgumentError("An address starts with https://, or with http:// on this machine.");
}

/** @throws InvalidArgumentError */
export function toSeconds(value: string): number {
  if (/^\d{1,3}$/.test(value) && Number(value) <= MAX_WAIT) return Number(value);
  throw new InvalidArgumentError(`It takes seconds, from 0 to ${MAX_WAIT}.`);
}

/** @throws InvalidArgumentError */
export function toPercentage(value: string): number {
  if (/^[1-9]\d?$/.test(value)) return Number(value);
  throw new InvalidArgumentError("A share is a whole number from 1 to 99.");
}

/** @throws InvalidArgumentError */
export function toCommit(value: string): string {
  refuseOption(value);
  if (/^[0-9a-f]{7,40}$/.test(value)) return value;
  throw new InvalidArgumentError("A commit has 7 to 40 hexadecimal digits.");
}

/** @throws InvalidArgumentError */
export function toVersionId(value: string): string {
  refuseOption(value);
  if (/^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(value)) return value;
  throw new InvalidArgumentError("A version id looks like 00000000-0000-0000-0000-000000000000.");
}

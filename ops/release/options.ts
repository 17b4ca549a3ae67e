import { InvalidArgumentError, Option } from "commander";
import { refuseOption } from "../program.ts";

export type DeployedEnvironment = "staging" | "production";

export interface TargetOptions {
  env: DeployedEnvironment;
  url?: URL;
  /** Seconds. */
  wait: number;
  yes?: true;
  otherTokenSecret?: true;
}

/** Seconds. A new key may take more than a minute to reach a location (KV documentation, How KV works). */
export const DEFAULT_WAIT = 120;

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
function toAddress(value: string): URL {
  const url = URL.parse(value);
  const local = ["localhost", "127.0.0.1", "[::1]"];
  if (url?.protocol === "https:" || (url?.protocol === "http:" && local.includes(url.hostname))) return url;
  throw new InvalidArgumentError("An address starts with https://, or with http:// on this machine.");
}

/** The parser of an option whose values have a form. It throws an InvalidArgumentError with the form in words. */
function inForm<Value>(form: RegExp, words: string, read: (value: string) => Value): (value: string) => Value {
  return (value) => {
    refuseOption(value);
    if (form.test(value)) return read(value);
    throw new InvalidArgumentError(words);
  };
}

const toSeconds = inForm(/^(?:\d{1,2}|[1-5]\d\d|600)$/, "It takes seconds, from 0 to 600.", Number);
export const toPercentage = inForm(/^[1-9]\d?$/, "A share is a whole number from 1 to 99.", Number);
export const toCommit = inForm(/^[0-9a-f]{7,40}$/, "A commit has 7 to 40 hexadecimal digits.", String);
export const toVersionId = inForm(
  /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/,
  "A version id looks like 00000000-0000-0000-0000-000000000000.",
  String,
);

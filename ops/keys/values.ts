import { type Command, InvalidArgumentError } from "commander";
import { type Environment, isWellFormedKey } from "../../src/auth/key-format.ts";
import { SCOPES } from "../../src/auth/scopes.ts";
import { DURATION, parseDuration } from "../duration.ts";
import { newProgram, refuseOption } from "../program.ts";
import type { Terminal } from "../terminal.ts";
import type { Expiry } from "./operations.ts";

// What each option's value means. All of it is checked while the command line is read, before anything else happens.

export const MAX_NAME_CHARACTERS = 100;
const DATE = /^(\d{4}-\d{2}-\d{2})(?:T\d{2}:\d{2}(?::\d{2}(?:\.\d{1,3})?)?(?:Z|[+-]\d{2}:\d{2}))?$/;

const ENVIRONMENTS: readonly Environment[] = ["local", "staging", "production"];

/** A command line for any environment, that of this machine included. */
export function newLocalProgram(name: string, terminal: Terminal): Command {
  return newProgram(name, terminal)
    .requiredOption("--env <local|staging|production>", "Staging and production need a login.", toEnvironment)
    .option("--persist-to <folder>", "Where the local state is, as for npm run dev.", toFolder)
    .hook("preAction", (_, command) => {
      const { env, persistTo } = command.optsWithGlobals<{ env: Environment; persistTo?: string }>();
      if (persistTo !== undefined && env !== "local") command.error("--persist-to is for --env local.");
    });
}

/** @throws InvalidArgumentError for what is no environment. */
function toEnvironment(value: string): Environment {
  const environment = ENVIRONMENTS.find((environment) => environment === value);
  if (environment !== undefined) return environment;
  throw new InvalidArgumentError("The environments are local, staging and production.");
}

/** @throws Error for an API key, without repeating it. An InvalidArgumentError would. */
export function toId(value: string): string {
  if (environmentOf(value.trim()) !== undefined)
    throw new Error("That is an API key, not an id. keys show --key-from-stdin reads a key from standard input.");
  return value;
}

/**
 * The API key that standard input holds, with or without white space around it.
 *
 * @throws Error for anything else, and for a key of another environment, without repeating it.
 */
export function toKey(input: string, environment: Environment): string {
  const key = input.trim();
  const own = environmentOf(key);
  if (own === undefined) throw new Error("Standard input holds no API key, or more than one.");
  if (own !== environment) throw new Error(`Standard input holds a key of ${own}. Say --env ${own}.`);
  return key;
}

function environmentOf(key: string): Environment | undefined {
  return ENVIRONMENTS.find((environment) => isWellFormedKey(key, environment));
}

/** @throws InvalidArgumentError for an empty name, a long one, and for characters that a terminal does not print. */
export function toName(value: string): string {
  refuseOption(value);
  if (!/\S/.test(value) || value.length > MAX_NAME_CHARACTERS || /\p{C}/u.test(value))
    throw new InvalidArgumentError(`A name has 1 to ${MAX_NAME_CHARACTERS} printable characters.`);
  return value;
}

/** @throws InvalidArgumentError for a scope that the service does not know. */
export function toScopes(value: string): readonly string[] {
  const scopes = value.split(",").map((scope) => scope.trim());
  const unknown = scopes.filter((scope) => !SCOPES.some((known) => known === scope));
  if (unknown.length > 0)
    throw new InvalidArgumentError(`There is no scope ${unknown.join(", ")}. The scopes are ${SCOPES.join(", ")}.`);
  return [...new Set(scopes)];
}

/**
 * A time to come: a date, a date with a time, or a duration from the creation of the key.
 *
 * @throws InvalidArgumentError for what is none of them, a date that no calendar has, and a time in the past.
 */
export function toExpiry(value: string): Expiry {
  const duration = parseDuration(value);
  const [, day] = DATE.exec(value) ?? [];
  if (duration === undefined && day === undefined)
    throw new InvalidArgumentError(`It takes a date (2027-01-31), a date with a time, or a duration: ${DURATION}.`);
  const date = new Date(duration === undefined ? value : Date.now() + duration);
  // Date takes the 31st of any month for a day of the next.
  const exists = day === undefined || new Date(`${day}T00:00:00Z`).toJSON()?.startsWith(day);
  if (Number.isNaN(date.getTime()) || !exists || date.getUTCFullYear() > 9999)
    throw new InvalidArgumentError(`There is no date ${value}.`);
  if (date.getTime() <= Date.now()) throw new InvalidArgumentError(`${value} is in the past.`);
  return (createdAt) => (duration === undefined ? date.getTime() : createdAt + duration);
}

/** @throws InvalidArgumentError for an empty path. */
export function toFolder(value: string): string {
  refuseOption(value);
  if (value === "") throw new InvalidArgumentError("A folder has a name.");
  return value;
}

import type { Terminal } from "../terminal.ts";
import { runWrangler } from "../wrangler.ts";

const PUBLIC_API = "https://api.cloudflare.com/client/v4";
/** Databases, namespaces and Workers are listed with as many on a page. */
const PAGE_SIZE = 100;
/** Milliseconds. */
const TIMEOUT = 30_000;

/** An account at Cloudflare: wrangler for most, and the REST API for what wrangler has no command for, or tells only to people. */
export class Cloudflare {
  readonly #account: string;
  readonly #terminal: Terminal;
  #token: Promise<string> | undefined;

  constructor(account: string, terminal: Terminal) {
    this.#account = account;
    this.#terminal = terminal;
  }

  /**
   * Runs wrangler on this account, after it has shown the command.
   *
   * @param quiet does not show what wrangler prints.
   * @param env more of its environment.
   * @returns what it printed on standard output.
   * @throws Error with all that it printed, when it fails.
   */
  wrangler(
    args: readonly string[],
    { quiet, env }: { quiet?: true; env?: Record<string, string> } = {},
  ): Promise<string> {
    this.#terminal.say(`\n$ npx wrangler ${args.map(quoted).join(" ")}`);
    return runWrangler(args, {
      env: { CLOUDFLARE_ACCOUNT_ID: this.#account, ...env },
      ...(quiet !== true && { onLine: (line) => this.#terminal.say(line) }),
    });
  }

  /**
   * @param path below the account.
   * @returns undefined when there is no such thing.
   * @throws Error for every other failure.
   */
  async get<Result>(path: string): Promise<Result | undefined> {
    return this.#request<Result>("GET", path);
  }

  /** All pages of a list. Throws an Error when it fails. */
  async list<Item>(path: string): Promise<Item[]> {
    const items: Item[] = [];
    for (let page = 1; ; page++) {
      const more = (await this.get<Item[]>(`${path}?per_page=${PAGE_SIZE}&page=${page}`)) ?? [];
      items.push(...more);
      if (more.length < PAGE_SIZE) return items;
    }
  }

  /** Changes something, after it has shown the request. Throws an Error when it fails. */
  async put(path: string, body: object): Promise<void> {
    this.#terminal.say(`\nPUT ${path} ${JSON.stringify(body)}`);
    if ((await this.#request("PUT", path, body)) === undefined) throw new Error(`Cloudflare has no ${path}.`);
  }

  async #request<Result>(method: string, path: string, body?: object): Promise<Result | undefined> {
    this.#token ??= readToken();
    const base = process.env["CLOUDFLARE_API_BASE_URL"] ?? PUBLIC_API;
    const response = await fetch(`${base}/accounts/${this.#account}${path}`, {
      method,
      headers: { Authorization: `Bearer ${await this.#token}`, "Content-Type": "application/json" },
      ...(body !== undefined && { body: JSON.stringify(body) }),
      signal: AbortSignal.timeout(TIMEOUT),
    });
    if (response.status === 404) return undefined;
    const { success, result, errors } = (await response.json()) as Envelope<Result>;
    if (success) return result;
    const reason = errors.map(({ code, message }) => `${message} (code ${code})`).join(", ");
    throw new Error(`Cloudflare refused ${method} ${path.split("?")[0]}: ${reason}`);
  }
}

/** What every response of the API is. */
interface Envelope<Result> {
  success: boolean;
  result: Result;
  errors: { code: number; message: string }[];
}

/**
 * The account of CLOUDFLARE_API_TOKEN and CLOUDFLARE_ACCOUNT_ID, or of wrangler's login.
 *
 * @throws Error when there is neither, and when the login has several accounts and none is named.
 */
export async function connect(terminal: Terminal): Promise<Cloudflare> {
  const { CLOUDFLARE_API_TOKEN: token, CLOUDFLARE_ACCOUNT_ID: named } = process.env;
  if (token && named) return new Cloudflare(named, terminal);
  const accounts = await loggedInAccounts();
  const [account] = named ? [named] : accounts;
  if (account === undefined || (!named && accounts.length > 1)) {
    throw new Error(`The login has ${accounts.length} accounts. Name one in CLOUDFLARE_ACCOUNT_ID.`);
  }
  return new Cloudflare(account, terminal);
}

async function loggedInAccounts(): Promise<string[]> {
  let answer;
  try {
    answer = JSON.parse(await runWrangler(["whoami", "--json"])) as { accounts: { id: string }[] };
  } catch (error) {
    const advice = "Set CLOUDFLARE_API_TOKEN and CLOUDFLARE_ACCOUNT_ID, or run npx wrangler login.";
    throw new Error(`There is no login at Cloudflare. ${advice}`, { cause: error });
  }
  return answer.accounts.map(({ id }) => id);
}

/** The token that wrangler uses itself. It is never shown, and no argument of a process. */
async function readToken(): Promise<string> {
  if (process.env["CLOUDFLARE_API_TOKEN"]) return process.env["CLOUDFLARE_API_TOKEN"];
  // Neither the output nor an error about it is passed on: it may hold the token.
  const output = await runWrangler(["auth", "token", "--json"]).catch(() => "");
  const token = /"token": "([^"]+)"/.exec(output)?.[1];
  if (token === undefined) throw new Error("wrangler auth token gives no token. Set CLOUDFLARE_API_TOKEN.");
  return token;
}

function quoted(arg: string): string {
  return /^[\w@%=:./,-]+$/.test(arg) ? arg : JSON.stringify(arg);
}

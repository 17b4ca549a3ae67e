import { devNull } from "node:os";
import { setTimeout as sleep } from "node:timers/promises";
import { adviceOnWrangler } from "../advice.ts";
import type { Terminal } from "../terminal.ts";
import { runWrangler } from "../../scripts/wrangler.ts";
import { Api, ApiFailure, type ApiRequest, BLOCK, type Token, type Use } from "./api.ts";
import { WINDOW } from "./pace.ts";

/** Databases and namespaces are listed with as many on a page. */
const PAGE_SIZE = 100;
/** Attempts of a wrangler command that fails for a reason that may pass. */
const WRANGLER_ATTEMPTS = 3;
/** Attempts at a change that must not happen twice, each after a look at what the last one did. */
const CHANGE_ATTEMPTS = 3;
/** Bytes of a file that tell whether it is a page of HTML. */
const EXCERPT = 100;
/** Times that something new is looked for until the API shows it. Milliseconds in between. */
const LOOKS = 5;
const PAUSE = 1_000;
/** Variables that could lead wrangler to another account or Worker. It gets the account and the token from us. */
const MISLEADING = /^(?!CLOUDFLARE_API_BASE_URL$)(?:CLOUDFLARE|CF|WRANGLER|WORKERS_CI)_/;
/** How wrangler tells of a failure of the API that may pass. It repeats some requests itself, and not all. */
const PASSING =
  /malformed response|fetch failed|terminated|other side closed|ECONN|socket|timed? ?out|internal error|rate limit|too many requests|-> (?:429|5\d\d)|code: (?:971|10001|10013|10429)\b/i;

/** Milliseconds for one run of wrangler: an upload of all assets on a slow line, or the migrations of a large database. */
const WRANGLER_PATIENCE = 900_000;

/** An account at Cloudflare: its API, and wrangler for the steps that build and upload. */
export class Cloudflare extends Api {
  readonly #terminal: Terminal;
  readonly #patience: number;

  constructor(account: string, token: string | Token, terminal: Terminal, use: Use = {}) {
    super(account, token, terminal, use);
    this.#terminal = terminal;
    this.#patience = use.patience ?? WRANGLER_PATIENCE;
  }

  /**
   * Runs wrangler on this account, after it has shown the command. Runs it again after a failure that may pass: the command has to be
   * repeatable. Throws an Error with all that it printed, when it fails.
   *
   * @param env more of its environment.
   */
  async wrangler(args: readonly string[], env: Record<string, string> = {}): Promise<string> {
    this.#terminal.say(`\n$ npx wrangler ${args.map(quoted).join(" ")}`);
    for (let attempt = 1; ; attempt++) {
      await this.pace.turn();
      try {
        // Its .env files are left out: they could lead it elsewhere as well.
        return await runWrangler([...args, `--env-file=${devNull}`], {
          env: { ...this.#environment(), ...env },
          onLine: (line) => this.#terminal.say(line),
          patience: this.#patience,
        });
      } catch (error) {
        // Without what it printed before: its list of the bindings has a "Rate Limit".
        const reported = /ERROR[^]*/.exec(String(error))?.[0] ?? String(error);
        const isBlocked = BLOCK.test(reported);
        if (attempt === WRANGLER_ATTEMPTS || !(isBlocked || PASSING.test(reported))) throw error;
        this.#terminal.say("\nThis failed for a reason that may pass, so it is tried again.");
        if (isBlocked) this.pace.close(WINDOW);
        else await this.clock.sleep(PAUSE * attempt);
      }
    }
  }

  #environment(): NodeJS.ProcessEnv {
    const environment = { ...process.env };
    for (const name of Object.keys(environment)) if (MISLEADING.test(name)) delete environment[name];
    return { ...environment, CLOUDFLARE_ACCOUNT_ID: this.account, CLOUDFLARE_API_TOKEN: this.token.value };
  }

  /** What is at a path below the account. Undefined when there is no such thing. */
  async get<Result>(path: string): Promise<Result | undefined> {
    return this.#unlessAbsent(() => this.send<Result>({ method: "GET", path }));
  }

  async list<Item>(path: string): Promise<Item[]> {
    const items: Item[] = [];
    for (let page = 1; ; page++) {
      const request = { method: "GET", path: `${path}?per_page=${PAGE_SIZE}&page=${page}` } as const;
      const { result, result_info: { total_count: total } = {} } = await this.sendForEnvelope<Item[]>(request);
      items.push(...result);
      // A page may have fewer than it was asked for, and others may follow.
      if (result.length === 0 || items.length >= (total ?? Infinity)) return items;
    }
  }

  /** All pages of a list that goes on with a cursor. @param path with a query. */
  async listByCursor<Item>(path: string, headers: Record<string, string> = {}): Promise<Item[]> {
    const items: Item[] = [];
    let cursor: string | undefined = "";
    while (cursor !== undefined) {
      const more: string = cursor === "" ? "" : `&cursor=${encodeURIComponent(cursor)}`;
      const page = await this.sendForEnvelope<Item[]>({ method: "GET", path: path + more, headers });
      items.push(...page.result);
      const { cursor: next, is_truncated: goesOn = true } = page.result_info ?? {};
      cursor = goesOn && next ? next : undefined;
    }
    return items;
  }

  /** The text of a value in KV, or undefined when there is none. */
  async getText(path: string): Promise<string | undefined> {
    return (await this.#unlessAbsent(() => this.getBytes({ path })))?.toString();
  }

  /** The bytes of a file. @throws ApiFailure also when there is none. */
  async getBytes(request: Omit<ApiRequest, "method">): Promise<Buffer> {
    return this.sendForBytes({ ...request, method: "GET" }, isNoPage);
  }

  /** Changes something, after it has shown the request, which may be repeated. */
  async change<Result>(request: ApiRequest): Promise<Result> {
    this.#show(request);
    return this.send(request);
  }

  /** Deletes something, if it is there, after it has shown the request. */
  async delete(path: string): Promise<void> {
    const request = { method: "DELETE", path } as const;
    this.#show(request);
    await this.#unlessAbsent(() => this.send(request));
  }

  /**
   * Does something that must not happen twice, after it has shown the request. After a failure that does not tell whether the change
   * happened, it looks.
   *
   * @param find what the change made, or undefined when it did not happen. It throws when somebody else changed the same.
   * @throws ApiFailure when the change did not happen.
   */
  async changeOnce<Result>(request: ApiRequest, find: () => Promise<Result | undefined>): Promise<Result> {
    this.#show(request);
    for (let attempt = 1; ; attempt++) {
      try {
        return await this.send<Result>({ ...request, repeatable: false });
      } catch (error) {
        const made = await eventually(find, error instanceof ApiFailure && error.isFinal ? 1 : LOOKS);
        if (made !== undefined) return made;
        if (!(error instanceof ApiFailure) || error.isFinal || attempt === CHANGE_ATTEMPTS) throw error;
      }
    }
  }

  #show({ method, path, body }: ApiRequest): void {
    this.#terminal.say(`\n${method} ${path}${body === undefined ? "" : ` ${JSON.stringify(body)}`}`);
  }

  async #unlessAbsent<Result>(request: () => Promise<Result>): Promise<Result | undefined> {
    try {
      return await request();
    } catch (error) {
      if (error instanceof ApiFailure && error.isAbsence) return undefined;
      throw error;
    }
  }
}

/** Looks for something until it is there, for some seconds, in case the API shows it late. */
export async function eventually<Result>(
  find: () => Promise<Result | undefined>,
  looks = LOOKS,
): Promise<Result | undefined> {
  for (let look = 1; ; look++) {
    const found = await find();
    if (found !== undefined || look === looks) return found;
    await sleep(PAUSE);
  }
}

/**
 * The account of CLOUDFLARE_API_TOKEN and CLOUDFLARE_ACCOUNT_ID, or of wrangler's login.
 *
 * @throws Error when there is neither, and when the login has several accounts and none is named.
 */
export async function connect(terminal: Terminal, use: Use = {}): Promise<Cloudflare> {
  const { CLOUDFLARE_API_TOKEN: token, CLOUDFLARE_ACCOUNT_ID: named } = process.env;
  // fetch would show them in its error.
  for (const [name, value] of Object.entries({ CLOUDFLARE_API_TOKEN: token, CLOUDFLARE_ACCOUNT_ID: named }))
    if (value && !/^[\w.~+/=-]+$/.test(value))
      throw new Error(`${name} has a character that none has, such as a space or a line break. Set it again.`);
  if (token && named) return new Cloudflare(named, token, terminal, use);
  const accounts = await loggedInAccounts();
  const [account] = named ? [named] : accounts;
  if (account === undefined || (!named && accounts.length > 1)) {
    throw new Error(`The login has ${accounts.length} accounts. Name one in CLOUDFLARE_ACCOUNT_ID.`);
  }
  return new Cloudflare(account, token || { value: await readToken(), renew: readToken }, terminal, use);
}

async function loggedInAccounts(): Promise<string[]> {
  let answer;
  try {
    answer = JSON.parse(await runWrangler(["whoami", "--json"])) as { accounts: { id: string }[] };
  } catch (error) {
    // It looked for the accounts of a token or login, and got no list.
    if (adviceOnWrangler(String(error)) !== undefined) throw error;
    const advice = "Set CLOUDFLARE_API_TOKEN and CLOUDFLARE_ACCOUNT_ID, or run npx wrangler login.";
    throw new Error(`There is no login at Cloudflare. ${advice}`, { cause: error });
  }
  return answer.accounts.map(({ id }) => id);
}

/** The token that wrangler uses itself. It is never shown, and no argument of a process. */
async function readToken(): Promise<string> {
  // Neither the output nor an error about it is passed on: it may hold the token.
  const output = await runWrangler(["auth", "token", "--json"]).catch(() => "");
  const token = /"token": "([^"]+)"/.exec(output)?.[1];
  if (token === undefined) throw new Error("wrangler auth token gives no token. Set CLOUDFLARE_API_TOKEN.");
  return token;
}

/** Our values and files are no markup. A page of HTML is an error of something in between. */
function isNoPage(body: Buffer): boolean {
  return !body.toString("latin1", 0, EXCERPT).trimStart().startsWith("<");
}

function quoted(arg: string): string {
  return /^[\w@%=:./,-]+$/.test(arg) ? arg : JSON.stringify(arg);
}

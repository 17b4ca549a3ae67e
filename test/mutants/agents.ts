import { type Mutant, workerd } from "./mutant.ts";

const protocol = (bug: string, file: string, was: string, becomes: string): Mutant =>
  workerd(bug, `mcp/${file}`, was, becomes, "mcp/protocol");
const battery = (bug: string, file: string, was: string, becomes: string): Mutant =>
  workerd(bug, `mcp/${file}`, was, becomes, "battery/agents");
const missteps = (bug: string, file: string, was: string, becomes: string): Mutant =>
  workerd(bug, `mcp/${file}`, was, becomes, "mcp/tasks");

/** Bugs of `/mcp`. */
export const AGENTS: Mutant[] = [
  protocol("an agent needs no key", "endpoint.ts", "if (key instanceof Response) return key;", ""),
  protocol(
    "a customer token uses /mcp",
    "endpoint.ts",
    "if (key.token !== undefined)",
    "if (key.token === undefined && false)",
  ),
  protocol(
    "messages count against no limit",
    "endpoint.ts",
    "if (asked === undefined || asked instanceof Response)",
    "if (asked === undefined)",
  ),
  battery("a call counts twice", "endpoint.ts", "if (asked === undefined || asked instanceof Response)", "if (true)"),
  battery("every tool is listed", "endpoint.ts", "scope === undefined || hasScope(scopes, scope)", "scope !== null"),
  battery("a call writes two lines", "endpoint.ts", 'c.set("isDelegated", true);', ""),
  battery("a call has an id that is in no log", "endpoint.ts", 'response.headers.get("X-Request-Id") ?? ""', '"none"'),
  battery("an agent reads from a replica", "endpoint.ts", 'READS: "primary"', 'READS: "nearest"'),
  battery("the line of a call names no agent", "endpoint.ts", ", AGENT: true }", " }"),
  protocol(
    "a key that ends is a failure of a tool",
    "endpoint.ts",
    "if (response.status === 401) return response;",
    "",
  ),
  protocol("the oldest revision gets structured content", "endpoint.ts", "revision !== OLDEST)", 'revision !== "")'),
  protocol("an unknown tool is a 400", "endpoint.ts", 'see tools/list.", 200)', 'see tools/list.")'),
  protocol(
    "header and body may name two versions",
    "revision.ts",
    'if (header !== named) throw mismatch("MCP-Protocol-Version");',
    "",
  ),
  protocol("the header may name another tool", "revision.ts", '!has(c.req.header("Mcp-Name"), name)', "false"),
  protocol("a batch is a message", "json-rpc.ts", " && !Array.isArray(value)", ""),
  protocol("an id of null is a notification", "json-rpc.ts", ' || (id === undefined && "id" in rest)', ""),
  protocol("a page of any port of any host may call", "origin.ts", "(?::\\d+)?$/", "/"),
  protocol("an empty Origin is allowed", "origin.ts", '.filter((origin) => origin !== "")', ""),
  missteps("a rounded number is an id", "arguments.ts", " && Number.isSafeInteger(Number(integer))", ""),
  missteps(
    "a list of no ids is a list of everything",
    "arguments.ts",
    "if (value.length === 0)",
    "if (value.length < 0)",
  ),
  missteps("a message names every item", "arguments.ts", "value.length > maxItems", "value.length < 0"),
  missteps("an id in a body is a text", "arguments.ts", "return rawJSON(integer);", "return integer;"),
  missteps("a key with line breaks reaches a header", "arguments.ts", 'typeof key === "string" && ', "key === 0 && "),
  missteps(
    "an unknown argument is ignored",
    "arguments.ts",
    "return [name, fail([...path, SHOWN_NAME",
    "return [name, item ?? fail([...path, SHOWN_NAME",
  ),
  battery("integers of a response are numbers", "call.ts", `'"$1":"$2"'`, `'"$1":$2'`),
  battery(
    "an agent gets an animal from memory",
    "call.ts",
    '"Cache-Control": "no-cache"',
    '"Cache-Control": "max-age=60"',
  ),
  missteps("a replay looks like a new order", "call.ts", " || undefined;", " && undefined;"),
  missteps("a failure is no failure", "call.ts", ", { isError: true }", ""),
];

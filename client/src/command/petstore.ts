#!/usr/bin/env node
// The command of the package. It runs in Node.js, and no module of the client imports it.
import { randomBytes } from "node:crypto";
import { parseArgs } from "node:util";
import { PetStoreError } from "../error.ts";
import { listen } from "./listen.ts";

const USAGE = `Usage: petstore listen --base <address> --forward-to <address> [options]

Forwards each new event to a receiver on this machine, signed like the deliveries of a webhook.

  --base <address>        the API with its version, for example https://petstore.example/v1
  --forward-to <address>  the receiver, for example http://localhost:3000/hook
  --key <key>             the API key. PETSTORE_API_KEY unless given, which no list of processes shows
  --type <type>           only events of this type. Repeat it for others
  --from <cursor>         the place in the feed to start from. latest unless given
  --secret <secret>       signs the events. A new one unless given
  --allow-remote          lets the receiver be on another machine
  --help                  prints this`;

/** The names and addresses of this machine, as `URL.hostname` writes them (RFC 6761, section 6.3, RFC 1122 and RFC 4291). */
const LOOPBACK = /^(?:(?:[^.]+\.)*localhost|127(?:\.\d+){3}|\[::1\])$/;
/** Standard Webhooks 1.0: 24 to 64 bytes in base64. */
const SECRET = /^whsec_[0-9A-Za-z+/]{32,86}={0,2}$/;

/** A command that cannot run. */
class UsageError extends Error {}

/** @throws UsageError, or TypeError for an option that does not exist. */
function read(args: string[]) {
  const { values, positionals } = parseArgs({
    args,
    allowPositionals: true,
    options: {
      base: { type: "string" },
      "forward-to": { type: "string" },
      key: { type: "string" },
      type: { type: "string", multiple: true },
      from: { type: "string", default: "latest" },
      secret: { type: "string" },
      "allow-remote": { type: "boolean", default: false },
      help: { type: "boolean", default: false },
    },
  });
  if (values.help) return undefined;
  if (positionals.join(" ") !== "listen") throw new UsageError("The command is listen.");
  const { base, "forward-to": forwardTo = "", key = process.env["PETSTORE_API_KEY"], from, type: types } = values;
  if (base === undefined) throw new UsageError("--base is missing.");
  if (key === undefined) throw new UsageError("Set PETSTORE_API_KEY, or give --key.");
  if (!URL.canParse(forwardTo) || !/^https?:/.test(forwardTo))
    throw new UsageError("--forward-to has to be an address like http://localhost:3000/hook.");
  const receiver = new URL(forwardTo);
  if (!LOOPBACK.test(receiver.hostname) && !values["allow-remote"])
    throw new UsageError(`${receiver.hostname} is not this machine. To send it the events, add --allow-remote.`);
  const { secret = `whsec_${randomBytes(32).toString("base64")}` } = values;
  if (!SECRET.test(secret)) throw new UsageError("--secret has to be whsec_ and 24 to 64 bytes in base64.");
  return { baseUrl: base, apiKey: key, receiver, secret, from, types };
}

try {
  const options = read(process.argv.slice(2));
  if (options === undefined) console.log(USAGE);
  else await listen(options, console.log);
} catch (error) {
  if (error instanceof PetStoreError) {
    console.error(`${error.code}: ${error.message}`);
    process.exitCode = 1;
  } else if (error instanceof UsageError || error instanceof TypeError || error instanceof RangeError) {
    console.error(`${error.message}\n\n${USAGE}`);
    process.exitCode = 2;
  } else throw error;
}

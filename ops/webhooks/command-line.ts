import type { Command } from "commander";
import { newProgram, runProgram } from "../program.ts";
import { type Cloudflare, connect } from "../release/cloudflare.ts";
import { requireId } from "../release/configuration.ts";
import { targetOptions, type TargetOptions } from "../release/options.ts";
import { readTarget } from "../release/target.ts";
import { confirmProduction, type Terminal, table } from "../terminal.ts";
import { explain, type Subject, toSubject } from "./explanation.ts";
import { type Session, withService } from "./service.ts";
import { describeHealth, readWebhooks } from "./state.ts";
import { resume, stop } from "./stop.ts";

/** Runs `npm run webhooks`. Returns the exit code. */
export async function run(args: readonly string[], terminal: Terminal): Promise<number> {
  const program = newProgram("npm run webhooks --", terminal)
    .description("Shows, stops and resumes the webhooks of an environment. It asks the service, with a key of its own.")
    .configureHelp({ showGlobalOptions: true });
  for (const option of targetOptions()) program.addOption(option);

  program
    .command("list")
    .description("Lists every webhook with its health. An address may have a secret: only its host is shown.")
    .action((_, command: Command) =>
      ask(command, async ({ session }) => {
        const webhooks = await readWebhooks(session);
        if (webhooks.length === 0) return terminal.print("There are no webhooks.");
        const rows = webhooks.map((one) => [String(one.id), new URL(one.url).host, one.createdBy, describeHealth(one)]);
        terminal.print(table([["ID", "HOST", "CREATED BY", "HEALTH"], ...rows]));
      }),
    );
  program
    .command("stop")
    .description(
      "Disables webhooks, and remembers which it disabled. Their events wait as long as the feed keeps them.",
    )
    .argument("[id...]")
    .option("--all", "Disables all of them.")
    .action((ids: string[], { all }: { all?: true }, command: Command) => {
      if ((ids.length === 0) === (all === undefined)) command.error("stop takes ids or --all.");
      return change(command, (service) => stop(service, all ? undefined : ids, terminal));
    });
  program
    .command("resume")
    .description("Enables the webhooks that stop disabled, and that nobody changed since.")
    .action((_, command: Command) => change(command, (service) => resume(service, terminal)));
  program
    .command("why")
    .description(
      "Tells what became of the deliveries of an event (evt_...) or of an animal (pet/7), as far as they are kept.",
    )
    .argument("<event|resource>", "evt_..., pet/7, category/7 or order/7.", toSubject)
    .action((subject: Subject, _, command: Command) =>
      ask(command, async (service) => terminal.print(await explain(service, subject))),
    );

  async function change(command: Command, use: (service: Service) => Promise<void>): Promise<void> {
    await confirmProduction(command.optsWithGlobals<TargetOptions>(), terminal, "This changes webhooks of production.");
    return ask(command, use);
  }

  async function ask(command: Command, use: (service: Service) => Promise<void>): Promise<void> {
    const options = command.optsWithGlobals<TargetOptions>();
    const target = readTarget(options.env);
    const database = requireId(options.env, "database");
    const cloudflare = await connect({ ...terminal, say: () => {} });
    const scopes = ["webhooks:manage", "pets:read", "store:read"] as const;
    await withService(cloudflare, target, { ...options, scopes }, terminal, (session) =>
      use({ session, cloudflare, database }),
    );
  }

  return runProgram(program, args, terminal);
}

/** The service of an environment, and the database of its commands. */
export interface Service {
  session: Session;
  cloudflare: Cloudflare;
  database: string;
}

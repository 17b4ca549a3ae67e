import { once } from "node:events";
import { readdirSync, readFileSync } from "node:fs";
import { createInterface } from "node:readline";
import { startWrangler } from "../../scripts/wrangler.ts";

// Without this, a signal would end this process before it ends its services.
for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => process.exit(1));

export interface KillableService {
  url: string;
  /** Sends SIGKILL. Returns when all of its processes have ended. */
  kill(): Promise<void>;
  /** The resident memory of its workerd in MiB. Linux only. */
  memory(): number;
}

/**
 * Starts `wrangler dev` on 127.0.0.1 in a new process group, so that one signal reaches workerd too. It ends with this process.
 *
 * @param state the folder of its storage.
 * @param args further arguments.
 */
export async function startKillableService(state: string, ...args: string[]): Promise<KillableService> {
  const address = ["--ip", "127.0.0.1", "--port", "0", "--inspector-port", "0"];
  const child = startWrangler(["dev", ...args, ...address, "--persist-to", state], {
    stdio: ["ignore", "pipe", "ignore"],
    detached: true,
  });
  if (child.stdout === null || child.pid === undefined) throw new Error("wrangler dev did not start");
  const group = -child.pid;
  // Its output closes after the last process of the group ends.
  const ended = once(child, "close");
  const sendKill = () => {
    try {
      process.kill(group, "SIGKILL");
    } catch {
      // The process has already ended.
    }
  };
  process.once("exit", sendKill);
  const lines = createInterface({ input: child.stdout });
  const url = await new Promise<string>((resolve, reject) => {
    lines.on("line", (line) => {
      const [, ready] = /Ready on (\S+)/.exec(line) ?? [];
      if (ready !== undefined) resolve(ready);
    });
    lines.on("close", () => reject(new Error("wrangler dev ended before it was ready")));
  });
  return {
    url,
    async kill() {
      sendKill();
      await ended;
      process.off("exit", sendKill);
    },
    memory: () => residentMemory(-group),
  };
}

function residentMemory(group: number): number {
  const all = readdirSync("/proc").filter((name) => /^\d+$/.test(name));
  const kibibytes = all.map((pid) => {
    const status = readStatus(pid);
    const field = (name: string) => new RegExp(`^${name}:\\s+(\\S+)`, "m").exec(status)?.[1];
    return field("Name") === "workerd" && field("NSpgid") === String(group) ? Number(field("VmRSS") ?? 0) : 0;
  });
  return kibibytes.reduce((sum, value) => sum + value, 0) / 1_024;
}

/** Empty when the process has ended. */
function readStatus(pid: string): string {
  try {
    return readFileSync(`/proc/${pid}/status`, "utf8");
  } catch {
    return "";
  }
}

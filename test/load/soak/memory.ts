import { readdirSync, readFileSync } from "node:fs";

/** The processes of workerd that this process started. Linux only. */
export function findWorkerd(): number[] {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .filter((pid) => {
      const status = readStatus(pid);
      return field(status, "Name") === "workerd" && field(status, "PPid") === String(process.pid);
    })
    .map(Number);
}

/** Resident memory of these processes, in MiB. @throws Error when one of them has ended. */
export function residentMemory(processes: number[]): number {
  const kibibytes = processes.map((pid) => Number.parseInt(field(readStatus(String(pid)), "VmRSS") ?? "", 10));
  const sum = kibibytes.reduce((total, value) => total + value, 0);
  if (Number.isNaN(sum)) throw new Error("workerd has ended");
  return sum / 1_024;
}

/** Empty when the process has ended. */
function readStatus(pid: string): string {
  try {
    return readFileSync(`/proc/${pid}/status`, "utf8");
  } catch {
    return "";
  }
}

function field(status: string, name: string): string | undefined {
  return new RegExp(`^${name}:\\s+(.+)$`, "m").exec(status)?.[1];
}

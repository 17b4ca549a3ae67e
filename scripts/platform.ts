/** Ends a command that starts others. They are ended by their process group, which Windows does not have. */
export function refuseWindows(platform: string = process.platform): void {
  if (platform !== "win32") return;
  console.error("This runs on Linux and macOS. On Windows, use WSL: README.md.");
  process.exit(1);
}

import { once } from "node:events";
import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { onTestFinished } from "vitest";

/**
 * Serves on a free port of this machine until the test ends. Returns its address.
 *
 * @param onEnd that of the context, for a test that runs beside others.
 */
export async function serve(listener: RequestListener, onEnd: (end: () => void) => void = onTestFinished) {
  const server = createServer(listener).listen(0, "127.0.0.1");
  onEnd(() => {
    server.closeAllConnections();
    server.close();
  });
  await once(server, "listening");
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

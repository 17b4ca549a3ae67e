// npm run generate:transcript: releases to an empty account of a fake Cloudflare, and writes what the command printed into
// docs/releases.md. Ids, durations and sizes are replaced, so that a second run writes the same.
import { CloudflareApi } from "../test/commands/cloudflare/api.ts";
import { Checkout } from "../test/commands/cloudflare/checkout.ts";
import { Edge } from "../test/commands/cloudflare/edge.ts";
import { putTranscript } from "./docs/transcript.ts";

const ARGS = ["--env", "staging", "--location", "weur", "--skip-checks"];

const checkout = new Checkout();
const api = await new CloudflareApi().listen();
const edge = await new Edge(api, "petstore-staging").listen();
try {
  const result = await checkout.run("scripts/release.ts", [...ARGS, "--url", edge.url], api.environment());
  if (result.code !== 0) throw new Error(result.stderr);
  putTranscript("docs/releases.md", fixed(`$ npm run release -- ${ARGS.join(" ")}\n${result.stderr}${result.stdout}`));
} finally {
  await edge.close();
  await api.close();
  checkout.remove();
}

/** The output with everything that differs from run to run replaced. */
function fixed(output: string): string {
  let ids = 0;
  const names = new Map<string, string>();
  const nameOf = (id: string): string => {
    const name = names.get(id) ?? `${String(++ids).repeat(8)}-0000-4000-8000-000000000000`;
    names.set(id, name);
    return name;
  };
  return output
    .replaceAll(edge.url, "https://petstore-staging.somebody.workers.dev")
    .replaceAll(checkout.folder, "/home/somebody/petstore")
    .replaceAll(
      /\b0000\d{4}-\d{8}-\d{8}-[0-9a-f]{32}\b/g,
      "00000001-00000000-00000000-0123456789abcdef0123456789abcdef",
    )
    .replaceAll(/\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b/g, nameOf)
    .replaceAll(/\b[0-9a-f]{32}\b/g, (id) => (id.startsWith("0123") ? id : nameOf(id).replaceAll("-", "")))
    .replaceAll(/\b(?=\w*\d)[0-9a-f]{12}\b(?!-)(?<!-[0-9a-f]{12})/g, "0123456789ab")
    .replaceAll(/\d+\.\d+ sec/g, "0.00 sec")
    .replaceAll(/\d+\.\d+ms/g, "0.00ms")
    .replaceAll(/\d+\.\d+ KiB/g, "0.00 KiB")
    .replaceAll(/\d+ files from/g, "10 files from");
}

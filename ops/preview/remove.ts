import { type Cloudflare, connect } from "../release/cloudflare.ts";
import { findDatabase } from "../release/database.ts";
import { findNamespace, type Namespace } from "../release/namespace.ts";
import type { Terminal } from "../terminal.ts";
import { type Preview, previewOfNamespace, previewOfResource } from "./names.ts";

/** Deletes a preview with its data. Deletes what is left of one that was deleted in part. */
export async function deletePreview({ name }: { name: Preview }, terminal: Terminal): Promise<void> {
  const cloudflare = await connect(terminal);
  const deleted = await removePreview(cloudflare, name);
  terminal.print(deleted ? `Preview ${name.name} is deleted.` : `There is no preview ${name.name}.`);
}

/**
 * Deletes the previews that nobody deployed for a time.
 *
 * @param olderThan milliseconds.
 * @param keep names of previews that stay, however old.
 */
export async function sweepPreviews(
  { olderThan, keep }: { olderThan: number; keep: readonly string[] },
  terminal: Terminal,
): Promise<void> {
  const cloudflare = await connect(terminal);
  const swept: string[] = [];
  const previews = await listPreviews(cloudflare);
  cloudflare.refuseClock();
  for (const { preview, changed } of previews) {
    if (keep.includes(preview.name) || changed > Date.now() - olderThan) continue;
    await removePreview(cloudflare, preview);
    swept.push(preview.name);
  }
  terminal.print(swept.length === 0 ? "There is no preview to sweep." : `Swept: ${swept.join(", ")}`);
}

/** Every preview of which a resource exists, with the last time that it was deployed or that its database was created. */
async function listPreviews(cloudflare: Cloudflare): Promise<{ preview: Preview; changed: number }[]> {
  const previews = new Map<string, { preview: Preview; changed: number }>();
  const add = (preview: Preview | undefined, time: number): void => {
    if (preview === undefined) return;
    const changed = Math.max(time, previews.get(preview.name)?.changed ?? 0);
    previews.set(preview.name, { preview, changed });
  };
  const workers = (await cloudflare.get<{ id: string; modified_on: string }[]>("/workers/scripts")) ?? [];
  for (const { id, modified_on } of workers) add(previewOfResource(id), Date.parse(modified_on));
  const databases = await cloudflare.list<{ name: string; created_at: string }>("/d1/database");
  for (const { name, created_at } of databases) add(previewOfResource(name), Date.parse(created_at));
  // A namespace has no time. One without Worker and database is left from a deletion that was interrupted.
  for (const { title } of await cloudflare.list<Namespace>("/storage/kv/namespaces")) add(previewOfNamespace(title), 0);
  return [...previews.values()];
}

/** Returns whether there was anything to delete. */
async function removePreview(cloudflare: Cloudflare, preview: Preview): Promise<boolean> {
  const namespace = await findNamespace(cloudflare, preview.namespace);
  const database = await findDatabase(cloudflare, preview.database);
  // The Worker first, which uses the others.
  const workers = (await cloudflare.get<{ id: string }[]>("/workers/scripts")) ?? [];
  const paths = [
    workers.some(({ id }) => id === preview.worker) ? `/workers/scripts/${preview.worker}?force=true` : undefined,
    namespace && `/storage/kv/namespaces/${namespace.id}`,
    database && `/d1/database/${database.uuid}`,
  ].filter((path) => path !== undefined);
  for (const path of paths) await cloudflare.delete(path);
  return paths.length > 0;
}

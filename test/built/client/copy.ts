import type { DatabaseSync } from "node:sqlite";
import type { PetStore } from "../../../client/src/index.ts";

/** Keeps a copy of the animals, in the tables `animals (id PRIMARY KEY, version, name)` and `place (cursor)`. */
export async function keepCopy(store: PetStore, copy: DatabaseSync, signal: AbortSignal): Promise<void> {
  const session = store.session();
  const put = copy.prepare(`INSERT INTO animals VALUES (?, ?, ?) ON CONFLICT (id) DO UPDATE
    SET version = excluded.version, name = excluded.name WHERE excluded.version > version`);
  const feed = session.events.follow({
    cursor: String(copy.prepare("SELECT cursor FROM place").get()?.["cursor"]), // "latest" at first
    types: ["pet.created", "pet.updated", "pet.deleted"],
    signal,
    onReset: () =>
      transaction(copy, async () => {
        copy.exec("DELETE FROM animals; UPDATE place SET cursor = 'latest'");
        const animals = session.pets.list({ etags: true, limit: 100 }, { signal });
        for await (const { id, version, name } of animals) put.run(id, version, name);
      }),
  });
  for await (const { events, cursor } of feed) {
    await transaction(copy, () => {
      for (const { type, data, version } of events) {
        if (type === "pet.deleted") copy.prepare("DELETE FROM animals WHERE id = ?").run(data.id);
        else if (type === "pet.created" || type === "pet.updated") put.run(data.id, version, data.name);
      }
      copy.prepare("UPDATE place SET cursor = ?").run(cursor);
    });
  }
}

async function transaction(copy: DatabaseSync, write: () => void | Promise<void>): Promise<void> {
  copy.exec("BEGIN");
  try {
    await write();
    copy.exec("COMMIT");
  } catch (error) {
    copy.exec("ROLLBACK");
    throw error;
  }
}

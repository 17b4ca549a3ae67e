import { namespaceId } from "./ids.ts";
import { found, Refusal, type Route, routes } from "./route.ts";

export interface Namespace {
  id: string;
  title: string;
  jurisdiction?: string;
  entries: Map<string, { value: string; metadata?: unknown }>;
}

/** What may show the entries as they were: the value of an entry, or the listing with the metadata. */
export type Read = "value" | "listing";

/** A fake of KV: namespaces with their entries. */
export class Namespaces {
  readonly all = new Map<string, Namespace>();
  readonly #lags = new Map<Read, { entries: Map<string, Namespace["entries"]>; times: number }>();

  /** Has the next so many reads show the entries as they are now, whatever is written meanwhile. */
  lag(read: Read, times = Infinity): void {
    const entries = new Map([...this.all].map(([id, namespace]) => [id, new Map(namespace.entries)]));
    this.#lags.set(read, { entries, times });
  }

  titled(title: string): Namespace | undefined {
    return [...this.all.values()].find((namespace) => namespace.title === title);
  }

  routes(): Route[] {
    const base = "/storage/kv/namespaces";
    return routes({
      [`GET ${base}`]: () => [...this.all.values()].map(shown),
      [`POST ${base}`]: async ({ body }) => {
        const { title, ...place } = (await body.json()) as Namespace;
        if (this.titled(title) !== undefined)
          throw new Refusal(400, 10_014, "a namespace with this account ID and title already exists");
        return shown(this.add(title, { ...place, id: crypto.randomUUID().replaceAll("-", "") }));
      },
      [`GET ${base}/:id`]: ({ params }) => shown(this.#find(params["id"])),
      [`DELETE ${base}/:id`]: ({ params }) => {
        this.all.delete(this.#find(params["id"]).id);
        return null;
      },
      [`GET ${base}/:id/keys`]: ({ params, query }) =>
        [...this.#read("listing", params["id"])]
          .filter(([name]) => name.startsWith(query.get("prefix") ?? ""))
          .map(([name, { metadata }]) => ({ name, ...(metadata !== undefined && { metadata }) })),
      [`GET ${base}/:id/values/:name`]: ({ params }) => {
        const entry = this.#read("value", params["id"]).get(params["name"] ?? "");
        return new Response(found(entry, 404, 10_009, "get: 'key not found'").value);
      },
      [`DELETE ${base}/:id/values/:name`]: ({ params }) => {
        this.#find(params["id"]).entries.delete(params["name"] ?? "");
        return null;
      },
      [`PUT ${base}/:id/values/:name`]: async ({ params, body }) => {
        const form = await body.formData();
        const metadata = form.get("metadata");
        this.#find(params["id"]).entries.set(params["name"] ?? "", {
          value: form.get("value") as string,
          ...(typeof metadata === "string" && { metadata: JSON.parse(metadata) }),
        });
        return null;
      },
    });
  }

  add(title: string, place: Partial<Namespace> = {}): Namespace {
    const namespace = { id: namespaceId(title), ...place, title, entries: new Map() };
    this.all.set(namespace.id, namespace);
    return namespace;
  }

  #read(read: Read, id?: string): Namespace["entries"] {
    const namespace = this.#find(id);
    const lag = this.#lags.get(read);
    return lag !== undefined && lag.times-- > 0 ? (lag.entries.get(namespace.id) ?? new Map()) : namespace.entries;
  }

  #find(id = ""): Namespace {
    return found(this.all.get(id), 404, 10_013, "namespace not found");
  }
}

/** A namespace as the API tells of it. */
function shown({ id, title, jurisdiction }: Namespace): object {
  return { id, title, ...(jurisdiction !== undefined && { jurisdiction }) };
}

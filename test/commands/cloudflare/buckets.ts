import { found, Refusal, type Route, routes } from "./route.ts";

/** Objects on a page of a list. R2 has a thousand. */
const PAGE_SIZE = 3;

/** A fake of R2: the objects of all buckets by their paths. */
export class Buckets {
  readonly objects = new Map<string, ArrayBuffer>();
  /** Of the buckets that were created with one. A bucket that nobody created is there, without one. */
  readonly jurisdictions = new Map<string, string>();

  routes(): Route[] {
    const base = "/r2/buckets";
    const pathOf = (params: Record<string, string>, { headers }: Response) => {
      const { bucket = "", key = "" } = params;
      if (headers.get("cf-r2-jurisdiction") !== (this.jurisdictions.get(bucket) ?? null))
        throw new Refusal(404, 10_006, "The specified bucket does not exist.");
      return `${bucket}/${key}`;
    };
    return routes({
      [`POST ${base}`]: async ({ body }) => {
        const bucket = (await body.json()) as { name: string };
        const jurisdiction = body.headers.get("cf-r2-jurisdiction");
        if (jurisdiction !== null) this.jurisdictions.set(bucket.name, jurisdiction);
        return bucket;
      },
      [`GET ${base}/:bucket/objects`]: ({ params, query, body }) => {
        const prefix = pathOf(params, body) + (query.get("prefix") ?? "");
        const keys = [...this.objects.keys()]
          .filter((path) => path.startsWith(prefix))
          .map((path) => path.slice(path.indexOf("/") + 1))
          .filter((key) => key > (query.get("cursor") ?? ""))
          .toSorted();
        const result = keys.slice(0, PAGE_SIZE).map((key) => ({ key }));
        const info = { cursor: result.at(-1)?.key, is_truncated: keys.length > PAGE_SIZE };
        return Response.json({ success: true, errors: [], messages: [], result, result_info: info });
      },
      [`PUT ${base}/:bucket/objects/:key(.+)`]: async ({ params, body }) => {
        this.objects.set(pathOf(params, body), await body.arrayBuffer());
        return {};
      },
      [`GET ${base}/:bucket/objects/:key(.+)`]: ({ params, body }) => {
        const object = this.objects.get(pathOf(params, body));
        return new Response(found(object, 404, 10_007, "The specified key does not exist."));
      },
      [`DELETE ${base}/:bucket/objects/:key(.+)`]: ({ params, body }) => {
        this.objects.delete(pathOf(params, body));
        return {};
      },
    });
  }
}

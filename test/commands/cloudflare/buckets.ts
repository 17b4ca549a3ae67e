import { found, type Route, routes } from "./route.ts";

/** A fake of R2: the objects of all buckets by their paths, and the rules that remove them. */
export class Buckets {
  readonly objects = new Map<string, ArrayBuffer>();
  readonly rules = new Map<string, unknown>();

  routes(): Route[] {
    const base = "/r2/buckets";
    return routes({
      [`POST ${base}`]: async ({ body }) => body.json(),
      [`GET ${base}/:bucket/lifecycle`]: ({ params }) => this.rules.get(params["bucket"] ?? "") ?? { rules: [] },
      [`PUT ${base}/:bucket/lifecycle`]: async ({ params, body }) => {
        this.rules.set(params["bucket"] ?? "", await body.json());
        return {};
      },
      [`PUT ${base}/:bucket/objects/:key(.+)`]: async ({ params, body }) => {
        this.objects.set(`${params["bucket"]}/${params["key"]}`, await body.arrayBuffer());
        return {};
      },
      [`GET ${base}/:bucket/objects/:key(.+)`]: ({ params }) => {
        const object = this.objects.get(`${params["bucket"]}/${params["key"]}`);
        return new Response(found(object, 404, 10_007, "The specified key does not exist."));
      },
    });
  }
}

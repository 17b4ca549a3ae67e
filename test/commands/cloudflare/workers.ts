import { type Call, found, Refusal, type Route, routes } from "./route.ts";

export interface Binding {
  name: string;
  type: string;
  [property: string]: unknown;
}
export interface Version {
  id: string;
  number: number;
  createdOn: string;
  annotations: Record<string, string>;
  bindings: Binding[];
  /** The last migration of Durable Objects when it was uploaded. */
  migrationTag: string | undefined;
}
export interface Deployment {
  id: string;
  created_on: string;
  annotations: Record<string, string>;
  versions: { version_id: string; percentage: number }[];
  code_update_strategy?: object | undefined;
}
export interface Worker {
  name: string;
  versions: Version[];
  /** The newest last. */
  deployments: Deployment[];
  crons: string[];
  /** The last migration of Durable Objects. */
  migrationTag?: string | undefined;
  /** The addresses on workers.dev of the last deployment. */
  subdomain?: { enabled: boolean; previews_enabled: boolean };
}

export class Workers {
  readonly all = new Map<string, Worker>();
  /** How many deployments and how many versions a list has at most: the latest ones. wrangler speaks of 10, and of 100 to roll back to. */
  bounds = { deployments: 10, versions: 100 };
  /** How many of the next lists of deployments do not have the latest one yet. */
  staleLists = 0;

  /** A Worker with these versions, oldest first, each of which had all requests for a time. All have this migration of Durable Objects. */
  add(name: string, versions: number, bindings: Binding[], commit?: string, migrationTag?: string): Worker {
    const worker: Worker = { name, versions: [], deployments: [], crons: [], migrationTag };
    for (let count = 0; count < versions; count++) {
      const version = addVersion(worker, bindings, { "workers/tag": `v0.${count}.0`, ...messageOf(commit) });
      deploy(worker, [{ version_id: version.id, percentage: 100 }]);
    }
    this.all.set(name, worker);
    return worker;
  }

  /** Gives a new version all requests. */
  release(worker: Worker, bindings: Binding[], commit?: string): Version {
    const version = addVersion(worker, bindings, messageOf(commit));
    deploy(worker, [{ version_id: version.id, percentage: 100 }]);
    return version;
  }

  /** Divides the requests among versions. */
  share(worker: Worker, shares: Deployment["versions"]): Deployment {
    return deploy(worker, shares);
  }

  routes(): Route[] {
    const script = "/workers/scripts/:name";
    return routes({
      "GET /workers/subdomain": () => ({ subdomain: "somebody" }),
      "GET /workers/workers/:name": ({ params }) => ({
        subdomain: { enabled: true, previews_enabled: false },
        ...this.#find(params["name"]),
      }),
      "GET /workers/services/:name": ({ params }) => ({
        id: this.#find(params["name"]).name,
        default_environment: {
          environment: "production",
          script: {
            tag: params["name"],
            last_deployed_from: "wrangler",
            migration_tag: this.#find(params["name"]).migrationTag,
          },
        },
      }),
      [`DELETE ${script}`]: ({ params }) => {
        this.all.delete(this.#find(params["name"]).name);
        return null;
      },
      "GET /workers/scripts": () =>
        [...this.all.values()].map(({ name, versions }) => ({ id: name, modified_on: versions.at(-1)?.createdOn })),
      [`GET ${script}/settings`]: ({ params }) => ({ bindings: latest(this.#find(params["name"])).bindings }),
      [`PATCH ${script}/script-settings`]: ({ body }) => body.json(),
      [`GET ${script}/secrets`]: () => [],
      [`PUT ${script}`]: async ({ params, body }) => {
        const name = params["name"] ?? "";
        const worker = this.all.get(name) ?? { name, versions: [], deployments: [], crons: [] };
        const version = await upload(worker, body, migrate);
        this.all.set(name, worker);
        deploy(worker, [{ version_id: version.id, percentage: 100 }]);
        return {
          id: name,
          tag: name,
          etag: version.id,
          deployment_id: version.id.replaceAll("-", ""),
          startup_time_ms: 5,
        };
      },
      [`POST ${script}/versions`]: async ({ params, body }) =>
        shown(await upload(this.#find(params["name"]), body, refuseMigrations)),
      [`GET ${script}/versions`]: ({ params }) => ({
        items: this.#find(params["name"]).versions.slice(-this.bounds.versions).map(shown),
      }),
      [`GET ${script}/versions/:version`]: (call) => shown(this.#version(call)),
      [`GET ${script}/deployments`]: ({ params }) => ({
        deployments: this.#find(params["name"])
          .deployments.slice(0, this.staleLists-- > 0 ? -1 : undefined)
          .slice(-this.bounds.deployments)
          .toReversed(),
      }),
      [`POST ${script}/deployments`]: async ({ params, query, body }) => {
        const { versions, annotations, code_update_strategy: codeUpdate } = (await body.json()) as Deployment;
        const worker = this.#find(params["name"]);
        for (const { version_id } of versions) {
          const { migrationTag } = this.#version({ params: { ...params, version: version_id } });
          if (migrationTag !== worker.migrationTag)
            throw new Refusal(400, 10_021, "A Durable Object migration has occurred between the two versions.");
          const version = this.#version({ params: { ...params, version: version_id } });
          if (query.get("force") !== "true" && secretsOf(version) !== secretsOf(latest(worker)))
            throw new Refusal(400, 10_220, "The following secrets have changed: TOKEN_SECRET");
        }
        return deploy(worker, versions, annotations, codeUpdate);
      },
      [`POST ${script}/subdomain`]: async ({ params, body }) =>
        (this.#find(params["name"]).subdomain = (await body.json()) as NonNullable<Worker["subdomain"]>),
      [`PUT ${script}/schedules`]: async ({ params, body }) => {
        const schedules = (await body.json()) as { cron: string }[];
        this.#find(params["name"]).crons = schedules.map(({ cron }) => cron);
        return { schedules };
      },
      "POST /workers/observability/telemetry/query": () => ({ events: { events: [{ source: { level: "info" } }] } }),
      // No file is ever missing. The tests do not cover the files themselves.
      [`POST ${script}/assets-upload-session`]: () => ({ jwt: "assets", buckets: [] }),
    });
  }

  #find(name = ""): Worker {
    return found(this.all.get(name), 404, 10_007, "This Worker does not exist on your account.");
  }

  #version({ params }: Pick<Call, "params">): Version {
    const version = this.#find(params["name"]).versions.find(({ id }) => id === params["version"]);
    return found(version, 404, 10_009, "This version does not exist.");
  }
}

function messageOf(commit: string | undefined): Record<string, string> {
  return commit === undefined ? {} : { "workers/message": commit.slice(0, 12) };
}

function latest(worker: Worker): Version {
  return found(worker.versions.at(-1), 404, 10_007, "This Worker has no version.");
}

interface Migrations {
  old_tag?: string;
  new_tag: string;
  steps: object[];
}

function migrate(worker: Worker, { old_tag, new_tag }: Migrations): void {
  if (old_tag !== worker.migrationTag) throw new Refusal(412, 10_079, "Migration tag precondition failed.");
  worker.migrationTag = new_tag;
}

function refuseMigrations(): never {
  throw new Refusal(400, 10_211, "Migrations must be fully applied via a non-versioned deployment.");
}

async function upload(
  worker: Worker,
  body: Response,
  apply: (worker: Worker, migrations: Migrations) => void,
): Promise<Version> {
  const form = await body.formData();
  const metadata = JSON.parse(form.get("metadata") as string) as {
    bindings: Binding[];
    keep_bindings?: string[];
    annotations?: Record<string, string>;
    migrations?: Migrations;
  };
  if (metadata.migrations !== undefined) apply(worker, metadata.migrations);
  const classes = metadata.bindings.filter(({ type }) => type === "durable_object_namespace");
  if (classes.length > 0 && worker.migrationTag === undefined)
    throw new Refusal(400, 10_061, `No migration made ${String(classes[0]?.["class_name"])} a Durable Object.`);
  const before = worker.versions.at(-1)?.bindings ?? [];
  const bindings = metadata.bindings.map((binding) => {
    if (binding.type !== "inherit") return binding;
    const inherited = before.find(({ name }) => name === binding.name);
    return found(inherited, 400, 10_057, `There is no binding ${binding.name} to inherit.`);
  });
  const kept = before.filter(
    ({ name, type }) => metadata.keep_bindings?.includes(type) && !bindings.some((binding) => binding.name === name),
  );
  return addVersion(worker, [...bindings, ...kept], metadata.annotations ?? {});
}

const secretsOf = ({ bindings }: Version) => JSON.stringify(bindings.filter(({ type }) => type === "secret_text"));

function addVersion(worker: Worker, bindings: Binding[], annotations: Record<string, string>): Version {
  const number = worker.versions.length + 1;
  const { migrationTag } = worker;
  const createdOn = new Date().toISOString();
  const version = { id: crypto.randomUUID(), number, createdOn, annotations, bindings, migrationTag };
  worker.versions.push(version);
  return version;
}

function deploy(
  worker: Worker,
  versions: Deployment["versions"],
  annotations: Record<string, string> = {},
  code_update_strategy?: object,
): Deployment {
  const total = versions.reduce((sum, { percentage }) => sum + percentage, 0);
  if (total !== 100) throw new Refusal(400, 10_021, `The percentages sum up to ${total}, not to 100.`);
  // Later than the previous one, even within a millisecond.
  const created_on = new Date(Date.now() + worker.deployments.length).toISOString();
  const deployment = { id: crypto.randomUUID(), created_on, annotations, versions, code_update_strategy };
  worker.deployments.push(deployment);
  return deployment;
}

function shown({ id, number, createdOn, annotations, bindings, migrationTag }: Version): object {
  return {
    id,
    number,
    annotations,
    metadata: { created_on: createdOn, author_email: "somebody@example.com", source: "wrangler" },
    resources: {
      // Nobody reads a secret.
      bindings: bindings.map((binding) => (binding.type === "secret_text" ? { ...binding, text: undefined } : binding)),
      script: { etag: id, handlers: ["fetch", "scheduled"] },
      script_runtime: { migration_tag: migrationTag },
    },
    startup_time_ms: 5,
  };
}

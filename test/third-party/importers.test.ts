import { createRequire } from "node:module";
import { promisify } from "node:util";
import type {
  OpenAPIObject,
  OperationObject,
  ParameterObject,
  ReferenceObject,
  RequestBodyObject,
} from "openapi3-ts/oas31";
import { afterEach, beforeEach, expect, onTestFinished, test } from "vitest";
import { operationsOf, resolve } from "../../openapi/read.ts";
import { temporaryFolder } from "../built/folder.ts";
import { type DevService, killGroup, startDev } from "../commands/dev-service.ts";

// What a stranger imports from `npm run dev`, and sends without a change: the examples of each operation, in the order of the document.

/** The parts of these packages that the tests use. They have no types. */
interface Postman {
  convertV2: (input: object, options: object, done: (error: Error | null, converted: Converted) => void) => void;
}
interface Converted {
  result: boolean;
  output: { data: object }[];
}
interface Newman {
  run: (options: object, done: (error: Error | null, summary: { run: { executions: Execution[] } }) => void) => void;
}
interface Execution {
  request: { method: string; url: { getPath: () => string } };
  response?: { code: number; text: () => string };
}
type Operations = Record<string, (parameters: object, body: unknown, config: object) => Promise<{ status: number }>>;
interface AxiosApi {
  default: new (options: object) => { init: () => Promise<Operations> };
}
const require = createRequire(import.meta.url);
const postman = require("openapi-to-postmanv2") as Postman;
const newman = require("newman") as Newman;
const { default: OpenApiClientAxios } = require("openapi-client-axios") as AxiosApi;

let service: DevService;
let address: string;
let document: OpenAPIObject;
beforeEach(async () => {
  service = await startDev(temporaryFolder(onTestFinished));
  address = new URL("/openapi.json", service.base).href;
  document = (await (await fetch(address)).json()) as OpenAPIObject;
});
afterEach(() => killGroup(service.process));

/** What the service says to all parameters at once, by the path. */
const APART = {
  "/v1/pets": "externalId cannot be beside id or q.",
  "/v1/store/orders": "reference cannot be beside petId; customer cannot be beside petId or reference.",
};

// Promise: examples-succeed
test.each([
  [false, {}],
  [true, APART],
])("Postman sends what it imported, optional parameters included: %s", async (enableOptionalParameters, failures) => {
  const input = { type: "json", data: document };
  const { result, output } = await promisify(postman.convertV2.bind(postman))(input, {
    parametersResolution: "Example",
    enableOptionalParameters,
  });
  expect(result).toBe(true);
  const summary = await promisify(newman.run.bind(newman))({
    collection: output[0]?.data,
    envVar: [{ key: "bearerToken", value: service.key }],
  });
  const { executions } = summary.run;
  const failed = executions.filter(({ response }) => response === undefined || response.code >= 300);
  const said = failed.map(({ request, response }) => [request.url.getPath(), JSON.parse(response?.text() ?? "")]);
  const apart = Object.entries(failures).map(([path, message]) => [
    path,
    { code: "invalid_request", message, status: 400 },
  ]);
  expect(said).toEqual(apart);
  expect(executions).toHaveLength(operationsOf(document).size);
});

// Promise: examples-succeed
test("openapi-client-axios calls every operation", async () => {
  const axiosConfigDefaults = { headers: { Authorization: `Bearer ${service.key}` } };
  const client = await new OpenApiClientAxios({ definition: address, axiosConfigDefaults }).init();
  const operations = Object.values(document.paths ?? {}).flatMap((item) =>
    Object.values(item as Record<string, OperationObject>),
  );
  for (const { operationId = "", parameters = [], requestBody } of operations) {
    const given = parameters.map((one): ParameterObject => resolve<ParameterObject>(document, one as ReferenceObject));
    const inPath = given.flatMap(({ name, in: place, example }) => (place === "path" ? [[name, example]] : []));
    const [[mediaType, content] = []] = Object.entries((requestBody as RequestBodyObject | undefined)?.content ?? {});
    const body: unknown = (content?.examples?.["example"] as { value: unknown } | undefined)?.value;
    const headers = mediaType === undefined ? {} : { "Content-Type": mediaType };
    const { status } = (await client[operationId]?.(Object.fromEntries(inPath), body, { headers })) ?? {};
    expect(status, operationId).toBeLessThan(300);
  }
});

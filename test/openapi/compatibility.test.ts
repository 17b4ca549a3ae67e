import type { OpenAPIObject, ParameterObject, SchemaObject } from "openapi3-ts/oas31";
import { describe, expect, test } from "vitest";
import { findBreakingChanges } from "../../openapi/compatibility.ts";
import whole from "../../public/openapi.json" with { type: "json" };
import { answering, api, expectVerdict, getToy, type Verdict } from "../support/documents.ts";

const { "/pets": pets, "/pets/{petId}": pet, "/events": events, "/events/live": live } = whole.paths;
/** The operations that these tests change, with all schemas. */
const document = { ...whole, paths: { "/pets": pets, "/pets/{petId}": pet, "/events": events, "/events/live": live } };

describe("in the document of the service", () => {
  type Editable = typeof document;

  function expectChange(edit: (copy: Editable) => void, verdict: Verdict): void {
    const copy = structuredClone(document);
    edit(copy);
    expectVerdict(document as unknown as OpenAPIObject, copy as unknown as OpenAPIObject, verdict);
  }

  test.each<[string, (copy: Editable) => void]>([
    ["no change", () => {}],
    ["a new operation", (copy) => Object.assign(copy.paths, { "/toys": { get: copy.paths["/pets"].get } })],
    [
      "a new type of events",
      ({ components: { schemas } }) => {
        schemas.PetEvent.properties.type.enum.push("pet.moved");
        schemas.UnknownEvent.properties.type.not.enum.push("pet.moved");
        Object.assign(schemas.Event.discriminator.mapping, { "pet.moved": "#/components/schemas/PetEvent" });
      },
    ],
    [
      "a new type of events with data of its own",
      ({ components: { schemas } }) => {
        const { type, ...properties } = schemas.PetEvent.properties;
        const data = { type: "object", properties: { stars: { type: "integer" } } };
        const moved = { ...properties, type: { ...type, enum: ["pet.rated"] }, data };
        Object.assign(schemas, { RatedEvent: { ...schemas.PetEvent, properties: moved } });
        schemas.UnknownEvent.properties.type.not.enum.push("pet.rated");
        schemas.Event.oneOf.unshift({ $ref: "#/components/schemas/RatedEvent" });
        Object.assign(schemas.Event.discriminator.mapping, { "pet.rated": "#/components/schemas/RatedEvent" });
      },
    ],
    [
      "a new operation with a path parameter and a body that has required fields",
      (copy) => {
        const { get } = copy.paths["/pets/{petId}"];
        const { requestBody } = copy.paths["/pets"].post;
        const toy = {
          delete: { ...get, operationId: "deleteToy", responses: { 204: { description: "Deleted." } } },
          patch: { ...get, operationId: "updateToy", requestBody },
        };
        Object.assign(copy.paths, { "/toys/{petId}": toy });
      },
    ],
  ])("%s is compatible", (_, edit) => {
    expectChange(edit, null);
  });

  // Promise: no-breaking-changes
  test.each<[string, (copy: Editable) => void, Verdict]>([
    [
      "a removed operation",
      (copy) => Reflect.deleteProperty(copy.paths["/pets/{petId}"], "get"),
      /^GET \/pets\/\{petId\}: the operation is gone, /,
    ],
    [
      "a removed type of events",
      (copy) => Reflect.deleteProperty(copy.components.schemas.Event.discriminator.mapping, "pet.deleted"),
      ["EventPage", "LivePage"].map(
        (page) =>
          new RegExp(
            `^schemas/${page}\\.events\\[\\]\\.type: may no longer be "pet\\.deleted", so clients that wait for it never receive it$`,
          ),
      ),
    ],
    [
      "a type of events whose data may be missing",
      ({ components: { schemas } }) => {
        const required = schemas.DeletedEvent.required.filter((name) => name !== "data");
        Object.assign(schemas, { RareEvent: { ...schemas.DeletedEvent, required } });
        schemas.Event.discriminator.mapping["pet.deleted"] = "#/components/schemas/RareEvent";
      },
      ["EventPage", "LivePage"].map(
        (page) =>
          new RegExp(`^schemas/${page}\\.events\\[\\]\\(pet\\.deleted\\)\\.data: the field may now be missing, `),
      ),
    ],
    [
      "another operationId",
      (copy) => Object.assign(copy.paths["/pets"].get, { operationId: "list" }),
      /^GET \/pets: operationId was "listPets" and is now "list", /,
    ],
    [
      "another scope",
      (copy) => Object.assign(copy.paths["/pets"].get, { "x-required-scope": "pets:write" }),
      /^GET \/pets: x-required-scope was "pets:read" and is now "pets:write", /,
    ],
    [
      "another base path",
      (copy) => {
        for (const server of copy.servers) server.url = server.url.replace("/v1", "/v2");
      },
      /^\/v1: no server has this base path /,
    ],
  ])("%s is not", (_, edit, verdict) => {
    expectChange(edit, verdict);
  });

  // Promise: compatibility-is-checked
  test("a change in a shared component is reported once, however often the component is used", () => {
    const copy = structuredClone(document);
    copy.components.schemas.Error.required.pop();
    expect(findBreakingChanges(document as unknown as OpenAPIObject, copy as unknown as OpenAPIObject)).toEqual([
      "schemas/Error.status: the field may now be missing, so clients that read it break",
    ]);
  });
});

describe("of stability marks", () => {
  const marked = (stability: string, schema: SchemaObject = {}): OpenAPIObject =>
    getToy({ "x-stability": stability, ...answering(schema).paths?.["/toys/{id}"]?.get });
  const size = (stability: string | undefined, parameter: Partial<ParameterObject> = {}) =>
    getToy({
      parameters: [
        { name: "size", in: "query", ...(stability === undefined ? {} : { "x-stability": stability }), ...parameter },
      ],
    });

  test.each<[string, OpenAPIObject, OpenAPIObject, Verdict]>([
    ["a stable operation that becomes beta", marked("stable"), marked("beta"), /was stable and is now beta, /],
    ["an operation without a mark that becomes beta", getToy({}), getToy({ "x-stability": "beta" }), /was stable/],
    ["a beta operation that becomes experimental", marked("beta"), marked("experimental"), /was beta and is now exp/],
    ["an unknown mark", marked("beta"), marked("alpha"), /was beta and is now alpha, /],
    ["a beta operation that becomes stable", marked("beta"), marked("stable"), null],
    ["a change of a beta operation", marked("beta"), marked("beta", { type: "null" }), null],
    ["a change of an experimental operation", marked("experimental", { type: "null" }), marked("stable"), null],
    ["a removed experimental operation", marked("experimental"), api({}), null],
    ["a removed beta operation", marked("beta"), api({}), /the operation is gone/],
    ["a wider response of a beta operation", marked("beta", { type: "null" }), marked("beta"), /may now be of type/],

    ["a new beta parameter", getToy({}), size("beta"), null],
    [
      "a stable parameter that becomes beta",
      size(undefined),
      size("beta"),
      /parameter size: was stable and is now beta, /,
    ],
    ["a beta parameter that becomes stable", size("beta"), size(undefined), null],
    ["a removed beta parameter", size("beta"), getToy({}), /the parameter is gone/],
    ["a removed experimental parameter", size("experimental"), getToy({}), null],
    ["an experimental parameter that changes", size("experimental"), size("beta", { schema: { maximum: 5 } }), null],
    [
      "an experimental parameter that becomes required",
      size("experimental"),
      size("experimental", { required: true }),
      /the parameter is now required/,
    ],
    [
      "an experimental parameter that stays required",
      size("experimental", { required: true }),
      size("beta", { required: true }),
      null,
    ],
    [
      "a parameter with the mark that its operation had",
      getToy({ "x-stability": "beta", parameters: [{ name: "size", in: "query" }] }),
      size("beta"),
      null,
    ],
  ])("%s", (_, before, after, verdict) => {
    expectVerdict(before, after, verdict);
  });
});

test("another kind of credentials breaks every operation", () => {
  const copy = structuredClone(document);
  Object.assign(copy.components.securitySchemes.apiKey, { type: "apiKey", in: "header", name: "X-Api-Key" });
  const changes = findBreakingChanges(document as unknown as OpenAPIObject, copy as unknown as OpenAPIObject);
  expect(changes).toContain("GET /pets: callers authenticate in another way, so clients of the old one may be refused");
});

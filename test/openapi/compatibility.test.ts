import { expect, test } from "vitest";
import { findBreakingChanges } from "../../openapi/compatibility.ts";
import document from "../../public/openapi.json" with { type: "json" };

type Editable = typeof document;

/** What is found when the document becomes this. */
function changed(edit: (copy: Editable) => void): string[] {
  const copy = structuredClone(document);
  edit(copy);
  return findBreakingChanges(document, copy);
}

test("a document is compatible with itself, and with other words in it", () => {
  expect(changed(() => {})).toEqual([]);
  expect(
    changed((copy) => {
      copy.paths["/pets"].get.description = "Other words.";
      copy.components.schemas.Animal.description = "Other words.";
    }),
  ).toEqual([]);
});

test.each<[string, (copy: Editable) => void]>([
  [
    "a new field of answers, that is always there",
    (copy) => {
      Object.assign(copy.components.schemas.Animal.properties, { age: { type: "integer" } });
      copy.components.schemas.Animal.required.push("age");
    },
  ],
  ["a new optional field of requests", (copy) => Object.assign(copy.components.schemas.NewPet.properties, { age: {} })],
  ["a new operation", (copy) => Object.assign(copy.paths, { "/toys": { get: copy.paths["/pets"].get } })],
  ["a new error code", (copy) => copy.components.schemas.Error.properties.code.enum.push("teapot")],
])("%s is compatible", (_, edit) => {
  expect(changed(edit)).toEqual([]);
});

test.each<[string, (copy: Editable) => void, RegExp]>([
  ["an operation goes", (copy) => Reflect.deleteProperty(copy.paths, "/pets/{petId}"), /GET \/pets\/\{petId\} exists/],
  [
    "a field of answers goes",
    (copy) => Reflect.deleteProperty(copy.components.schemas.Animal.properties, "status"),
    /body\.status exists/,
  ],
  [
    "a field of answers may be missing",
    (copy) => copy.components.schemas.Animal.required.pop(),
    /status is always there/,
  ],
  [
    "a field of requests becomes required",
    (copy) => copy.components.schemas.NewPet.required.push("status"),
    /Newly required: POST \/pets: request body\.status/,
  ],
  [
    "another type",
    (copy) => Object.assign(copy.components.schemas.Animal.properties.id, { type: "string" }),
    /id: type is/,
  ],
  [
    "another status",
    (copy) => {
      const { responses } = copy.paths["/pets"].post;
      Object.assign(responses, { 200: responses[201] });
      Reflect.deleteProperty(responses, "201");
    },
    /POST \/pets answers "?201/,
  ],
  [
    "a renamed code",
    (copy) => {
      copy.components.schemas.Error.properties.code.enum[0] = "bad_request";
    },
    /may be "invalid_request"/,
  ],
  ["a new value of an enumeration", (copy) => copy.components.schemas.PetStatus.enum.push("lost"), /enum is/],
  [
    "a stricter limit",
    (copy) => Object.assign(copy.components.schemas.NewPet.properties.name, { maxLength: 100 }),
    /name: maxLength is 255/,
  ],
  [
    "a header goes",
    (copy) => Reflect.deleteProperty(copy.paths["/pets"].post.responses[201].headers, "Location"),
    /Location/,
  ],
])("%s is not", (_, edit, message) => {
  expect(changed(edit).join("\n")).toMatch(message);
});

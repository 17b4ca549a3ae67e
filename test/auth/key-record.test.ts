import { describe, expect, test } from "vitest";
import { parseKeyRecord } from "../../src/auth/key-record.ts";

const LEAST = { id: "key_1", name: "", scopes: [], createdAt: "2026-01-01T00:00:00Z" };
const MOST = {
  ...LEAST,
  scopes: ["pets:read", "a scope of a later version"],
  expiresAt: "2026-12-31T23:59:59.999Z",
  revokedAt: "2026-06-01T12:00:00.5Z",
  givenExpiresAt: null,
  replacedBy: ["key_2"],
};

test.each([LEAST, MOST, { ...MOST, givenExpiresAt: "2027-01-01T00:00:00Z" }])("%j is a record", (record) => {
  expect(parseKeyRecord(JSON.stringify(record))).toEqual(record);
});

describe("a value is not a record:", () => {
  test.each(["", "{", "null", "[]", "1", '"key"', "{}", `[${JSON.stringify(LEAST)}]`])("the text %s", (text) => {
    expect(parseKeyRecord(text)).toBeUndefined();
  });

  test.each(Object.keys(LEAST))("one without %s", (field) => {
    expect(parseKeyRecord(JSON.stringify({ ...MOST, [field]: undefined }))).toBeUndefined();
  });

  // A misspelt `revokedAt` must not make its key valid.
  test.each(["revoked_at", "RevokedAt", "toString", "__proto__"])("one with the unknown field %s", (field) => {
    expect(parseKeyRecord(JSON.stringify(LEAST).replace("{", `{"${field}": "2026-01-01T00:00:00Z",`))).toBeUndefined();
  });

  test.each<[keyof typeof MOST, unknown[]]>([
    ["id", ["", 1, null, ["key_1"]]],
    ["name", [1, null, {}]],
    ["scopes", ["pets:read", null, [1], ["pets:read", 1], [1, "pets:read"], [["pets:read"]], { 0: "pets:read" }]],
    ["createdAt", [null, 0, "", "yesterday", "2026-01-01", "2026-02-30T00:00:00Z", "2026-01-01T00:00:00"]],
    ["expiresAt", [null, 0, "", "never", "2026-13-01T00:00:00Z", ["2026-01-01T00:00:00Z"]]],
    ["revokedAt", [null, false, "", "no"]],
    ["givenExpiresAt", [0, "", "none"]],
    ["replacedBy", [null, "key_2", [2], ["key_2", 2]]],
  ])("one with another %s", (field, values) => {
    for (const value of values) {
      expect(parseKeyRecord(JSON.stringify({ ...MOST, [field]: value })), String(value)).toBeUndefined();
    }
  });
});

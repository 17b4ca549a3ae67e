// The description of the animals for the OpenAPI document. Never part of the Worker (`npm run check:bundle`).
import type { SchemaObject } from "openapi3-ts/oas31";
import { INT64, objectSchema, pageParameters, ref, type Resource } from "../../openapi/describe.ts";
import { MAX_LIMIT } from "../http/paging.ts";
import { createPet, newPet } from "./create-pet.ts";
import { getPet } from "./get-pet.ts";
import { listPets } from "./list-pets.ts";
import { NOT_WHITE_SPACE } from "./pet.ts";
import { MAX_NAME_CHARACTERS, PET_STATUSES } from "./table.ts";

const ADA = { id: 1, name: "Ada the Alpaca", categoryId: 7, status: "available" };

const name: SchemaObject = {
  description: "The animal's name, kept byte for byte. Characters are Unicode code points.",
  minLength: 1,
  maxLength: MAX_NAME_CHARACTERS,
  pattern: NOT_WHITE_SPACE.source,
  examples: [ADA.name],
};
const categoryId: SchemaObject = {
  ...INT64,
  description: "Identifier of the category that the animal belongs to.",
  examples: [ADA.categoryId],
};

const fields = objectSchema(newPet(), {
  name,
  categoryId,
  status: { ...ref("PetStatus"), description: "Availability status. When it is omitted, the animal is `available`." },
});

export const pets: Resource = {
  tag: { name: "Pets", description: "The animals of the store." },
  schemas: {
    NewPet: {
      type: "object",
      description: "An animal to add. Other fields, `id` among them, are ignored.",
      ...fields,
      examples: [{ name: ADA.name, categoryId: ADA.categoryId, status: ADA.status }],
    },
    Animal: {
      type: "object",
      description: "An animal: what was sent to create it, and its identifier.",
      properties: {
        id: { ...INT64, description: "Unique identifier, assigned by the service.", examples: [ADA.id] },
        ...fields.properties,
        status: ref("PetStatus"),
      },
      required: ["id", ...Object.keys(fields.properties)],
      examples: [ADA],
    },
    Pets: {
      type: "array",
      description: "Animals in ascending order of id.",
      items: ref("Animal"),
      maxItems: MAX_LIMIT,
      examples: [[ADA]],
    },
    PetStatus: {
      type: "string",
      enum: [...PET_STATUSES],
      description: "Availability status.",
      examples: [ADA.status],
    },
  },
  operations: {
    listPets: {
      handlers: listPets,
      stability: "stable",
      summary: "List animals",
      description:
        "Animals in ascending order of id. When there are more, the `Link` header holds the address of the next page, which keeps `limit` and `status`. Follow it as it is, or send its `cursor` with the same `limit` and `status`.",
      parameters: {
        ...pageParameters("animals"),
        status: { description: "Availability status.", schema: ref("PetStatus"), example: ADA.status },
      },
      success: { status: 200, description: "Animals.", body: { schema: "Pets", example: [ADA] }, headers: ["Link"] },
    },
    createPet: {
      handlers: createPet,
      stability: "stable",
      summary: "Add an animal",
      description:
        "With an `Idempotency-Key`, the animal is created exactly once, however often the request is repeated.",
      idempotencyKey: "animal",
      body: { description: "An animal", schema: "NewPet", example: { name: ADA.name, categoryId: ADA.categoryId } },
      success: {
        status: 201,
        description: "The animal was created.",
        body: { schema: "Animal", example: ADA },
        headers: ["Idempotency-Replayed"],
      },
    },
    getPet: {
      handlers: getPet,
      stability: "stable",
      summary: "Fetch an animal",
      description: "Deprecated, to be removed on 5 December 2030. Use `listPets` with the `status` filter instead.",
      parameters: { petId: { description: "Identifier of the animal.", schema: INT64, example: ADA.id } },
      success: { status: 200, description: "The animal.", body: { schema: "Animal", example: ADA } },
      errors: ["not_found"],
    },
  },
};

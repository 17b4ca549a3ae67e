// The description of the animals.
import type { SchemaObject } from "openapi3-ts/oas31";
import { INT64, listed, NAME, pageParameters, propertiesOf, ref, type Resource } from "../describe.ts";
import { MAX_LIMIT } from "../../src/http/paging.ts";
import { createPets, MAX_BATCH } from "../../src/pets/create-pets.ts";
import { createPet } from "../../src/pets/create-pet.ts";
import { getPet } from "../../src/pets/get-pet.ts";
import { deletePet } from "../../src/pets/delete-pet.ts";
import { listPets, MAX_IDS } from "../../src/pets/list-pets.ts";
import { pet } from "../../src/pets/shape.ts";
import { PET_STATUSES } from "../../src/pets/table.ts";
import { updatePet } from "../../src/pets/update-pet.ts";

const ADA = { id: 1, name: "Ada the Alpaca", categoryId: 7, status: "available" };

const PET_ID = { petId: { description: "Identifier of the animal.", schema: INT64, example: ADA.id } };

const { created, changed, whole } = propertiesOf(
  pet,
  {
    name: {
      ...NAME,
      description: "The animal's name, stored byte for byte. Characters are Unicode code points.",
      examples: [ADA.name],
    },
    categoryId: {
      ...INT64,
      description: "Identifier of the category that the animal belongs to.",
      examples: [ADA.categoryId],
    },
    status: ref("PetStatus"),
  },
  { created: { status: "Availability status. Defaults to `available`." } },
);
const animal: SchemaObject = {
  type: "object",
  description: "An animal: its fields and its identifier.",
  ...whole,
  examples: [ADA],
};

export const pets: Resource = {
  tag: { name: "Pets", description: "The animals of the store." },
  schemas: {
    NewPet: {
      type: "object",
      description: "An animal to add. Other fields, `id` among them, are ignored.",
      ...created,
      examples: [{ name: ADA.name, categoryId: ADA.categoryId, status: ADA.status }],
    },
    NewPets: {
      type: "array",
      description: "Animals to add.",
      items: ref("NewPet"),
      minItems: 1,
      maxItems: MAX_BATCH,
      examples: [[{ name: ADA.name, categoryId: ADA.categoryId }]],
    },
    PetPatch: {
      type: "object",
      description: "The fields of an animal to change. Other fields, `id` among them, are ignored.",
      ...changed,
      examples: [{ status: "pending" }],
    },
    Animal: animal,
    ListedAnimal: listed(animal),
    ListedPets: {
      type: "array",
      description: "Animals in the order of the request.",
      items: ref("ListedAnimal"),
      maxItems: MAX_LIMIT,
      examples: [[ADA]],
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
        "Returns animals in ascending order of id, or as `sort` says. If there are more, the `Link` header holds the address of the next page, with the same parameters. Follow it unchanged, or send its `cursor` with the same parameters. Filters can be combined. A list ignores preconditions.",
      parameters: {
        ...pageParameters("animals"),
        status: { description: "Availability status.", schema: ref("PetStatus"), example: ADA.status },
        categoryId: { description: "Only the animals of this category.", stability: "beta", schema: INT64 },
        id: {
          description:
            "Only the animals with these identifiers, each in its own parameter: `id=2&id=8`. Without any, the list is not filtered.",
          stability: "beta",
          schema: { type: "array", items: INT64, minItems: 1, maxItems: MAX_IDS },
        },
      },
      success: {
        status: 200,
        description: "Animals.",
        body: { schema: "ListedPets", example: [ADA] },
      },
    },
    createPet: {
      handlers: createPet,
      stability: "stable",
      summary: "Add an animal",
      description: "With an `Idempotency-Key`, the animal is created exactly once, even if the request is repeated.",
      idempotencyKey: "animal",
      body: { description: "An animal", schema: "NewPet", example: { name: ADA.name, categoryId: ADA.categoryId } },
      success: {
        status: 201,
        description: "The animal was created.",
        body: { schema: "Animal", example: ADA },
      },
    },
    createPets: {
      handlers: createPets,
      stability: "beta",
      summary: "Add several animals",
      description:
        "Adds all animals or none, in one transaction. The response has them in the same order, with ascending ids. A message about an invalid animal names its place, counted from 0. With an `Idempotency-Key`, which covers the whole array, they are created exactly once. The request counts once against the rate limit.",
      idempotencyKey: "batch",
      body: {
        description: "Animals",
        schema: "NewPets",
        example: [{ name: ADA.name, categoryId: ADA.categoryId }],
      },
      success: {
        status: 201,
        description: "The animals were created.",
        body: { schema: "Pets", example: [ADA] },
      },
    },
    getPet: {
      handlers: getPet,
      stability: "stable",
      summary: "Fetch an animal",
      description:
        "Deprecated. It will be removed on 5 December 2030. Use `listPets` with the `status` filter instead.",
      parameters: PET_ID,
      success: {
        status: 200,
        description: "The animal.",
        body: { schema: "Animal", example: ADA },
      },
      errors: ["not_found"],
    },
    updatePet: {
      handlers: updatePet,
      stability: "beta",
      summary: "Change an animal",
      description:
        "Applies a JSON Merge Patch (RFC 7396): the fields in it change. A patch that changes nothing leaves the version unchanged.",
      parameters: PET_ID,
      idempotencyKey: "change",
      body: { description: "The fields to change", schema: "PetPatch", example: { status: "pending" } },
      success: {
        status: 200,
        description: "The whole animal.",
        body: { schema: "Animal", example: { ...ADA, status: "pending" } },
      },
      errors: ["not_found", "pet_on_order"],
    },
    deletePet: {
      handlers: deletePet,
      stability: "beta",
      summary: "Delete an animal",
      description: "Deletes an animal. Its identifier is never used again.",
      parameters: PET_ID,
      success: { status: 204, description: "The animal is deleted." },
      errors: ["not_found", "pet_on_order"],
    },
  },
};

// The description of the animals.
import type { SchemaObject } from "openapi3-ts/oas31";
import type * as z from "zod/mini";
import {
  ANY_TEXT,
  CUSTOMER_TEXT,
  ALL_DIGITS,
  INT64,
  listed,
  NAME,
  fieldsOf,
  objectSchema,
  pageParameters,
  propertiesOf,
  ref,
  type Resource,
  versioned,
  arrayOf,
  added,
  ok,
  openList,
  values,
} from "../describe.ts";
import { MAX_LIMIT } from "../../src/http/paging.ts";
import { MAX_BATCH } from "../../src/pets/batch.ts";
import { importedPet } from "../../src/pets/import-pets.ts";
import { MAX_IDS } from "../../src/pets/list-pets.ts";
import { MAX_SEARCH_CHARACTERS } from "../../src/pets/search.ts";
import { pet } from "../../src/pets/shape.ts";
import { MAX_VERSION } from "../../src/http/validation.ts";
import { PET_STATUSES } from "../../src/pets/table.ts";
import { petChange } from "../../src/pets/update-pets.ts";

const ADA = { id: 1, name: "Ada the Alpaca", categoryId: 1, status: "available" };

const PET_ID = { petId: { description: "Identifier of the animal.", schema: INT64, example: ADA.id } };

const CATEGORY = "Identifier of the category that the animal belongs to.";
const EXTERNAL_ID = {
  ...CUSTOMER_TEXT,
  description:
    "The identifier of the animal in another system: visible ASCII, compared byte for byte. No two animals have the same. Absent when there is none.",
  examples: ["SKU-0007"],
};
const { created, changed, whole } = propertiesOf(
  pet,
  {
    name: {
      ...NAME,
      description: "The animal's name, stored byte for byte. Characters are Unicode code points.",
      examples: [ADA.name],
    },
    categoryId: { ...INT64, description: CATEGORY, examples: [ADA.categoryId] },
    status: ref("PetStatus"),
    externalId: EXTERNAL_ID,
  },
  {
    created: { categoryId: `${CATEGORY} ${ALL_DIGITS}`, status: "Availability status. Defaults to `available`." },
    changed: {
      categoryId: `${CATEGORY} ${ALL_DIGITS}`,
      externalId: "The identifier of the animal in another system. Null removes it.",
    },
  },
);
const change = objectSchema(petChange() as z.ZodMiniObject, {
  id: { ...INT64, description: `Identifier of the animal. ${ALL_DIGITS}`, examples: [ADA.id] },
  version: {
    type: "integer",
    // A JavaScript number holds it, so it is no int64, which the client turns into a bigint (OpenAPI's registry of formats).
    format: "double-int",
    minimum: 1,
    maximum: MAX_VERSION,
    description: "The version that the animal has to have. Any unless given.",
    examples: [1],
  },
  ...changed.properties,
});
const imported = objectSchema(importedPet() as z.ZodMiniObject, {
  ...created.properties,
  status: {
    ...ref("PetStatus"),
    description: "Availability status. Without it, a new animal is `available`, and an existing one keeps its status.",
  },
});
const IMPORTED = { externalId: "SKU-0007", name: ADA.name, categoryId: ADA.categoryId };
const UPSERTED = { ...ADA, externalId: IMPORTED.externalId, version: 1, result: "created" };
const animal = fieldsOf("An animal: its fields and its identifier.", whole, ADA);

/** The animal, and what an import did to it. */
const upserted = ({ properties = {}, required = [], ...schema }: SchemaObject): SchemaObject => ({
  ...schema,
  properties: { ...properties, result: openList("UpsertResult") },
  required: [...required, "result"],
  examples: [UPSERTED],
});

export const pets: Resource = {
  tag: { name: "Pets", description: "The animals of the store." },
  missing: "There is no animal with this id.",
  schemas: {
    NewPet: fieldsOf("An animal to add. Other fields, `id` among them, are ignored.", created, {
      name: ADA.name,
      categoryId: ADA.categoryId,
      status: ADA.status,
    }),
    NewPets: arrayOf("NewPet", "Animals to add.", MAX_BATCH, [{ name: ADA.name, categoryId: ADA.categoryId }], 1),
    PetPatch: fieldsOf("The fields of an animal to change. Other fields, `id` among them, are ignored.", changed, {
      status: "pending",
    }),
    PetChange: fieldsOf(
      "An animal to change: its identifier, and the fields to change. Other fields are ignored.",
      change,
      { id: ADA.id, version: 1, status: "pending" },
    ),
    PetChanges: arrayOf(
      "PetChange",
      "Animals to change, each once.",
      MAX_BATCH,
      [{ id: ADA.id, version: 1, status: "pending" }],
      1,
    ),
    ImportedPet: fieldsOf(
      "An animal as another system has it. Other fields, `version` among them, are ignored.",
      imported,
      IMPORTED,
    ),
    ImportedPets: arrayOf("ImportedPet", "Animals, each once.", MAX_BATCH, [IMPORTED], 1),
    UpsertResult: values(["created", "updated", "unchanged"], "What an import did to an animal."),
    UpsertedAnimal: upserted(versioned(animal)),
    UpsertedPets: arrayOf("UpsertedAnimal", "Animals in the order of the request.", MAX_BATCH, [UPSERTED]),
    Animal: animal,
    VersionedAnimal: { ...versioned(animal), examples: [{ ...ADA, version: 2 }] },
    VersionedPets: arrayOf("VersionedAnimal", "Animals in the order of the request.", MAX_BATCH, [
      { ...ADA, version: 2 },
    ]),
    ListedAnimal: listed(animal),
    ListedPets: arrayOf("ListedAnimal", "Animals in the order of the request.", MAX_LIMIT, [ADA]),
    Pets: arrayOf("Animal", "Animals in ascending order of id.", MAX_LIMIT, [ADA]),
    PetStatus: values(PET_STATUSES, "Availability status."),
  },
  operations: {
    listPets: {
      stability: "stable",
      summary: "List animals",
      agents: {
        description:
          "Lists animals, with all filters at once. q finds words of names: each begins a word, in any order, in any case. A page may be short or empty, mostly with another filter, and still have nextCursor: go on with it. include adds the version that updatePets can check.",
        words: { id: "only these animals" },
      },
      description:
        "Returns animals in ascending order of id, or as `sort` says. If there are more, the `Link` header holds the address of the next page, with the same parameters. Follow it unchanged, or send its `cursor` with the same parameters. Filters can be combined. A list ignores preconditions.",
      parameters: {
        ...pageParameters("animals"),
        status: { description: "Availability status.", schema: ref("PetStatus"), example: ADA.status },
        categoryId: {
          description: "Only the animals of this category.",
          stability: "beta",
          schema: INT64,
          example: ADA.categoryId,
        },
        id: {
          description: "Only the animals with these identifiers, `id=2&id=8`. Without any, the list is not filtered.",
          stability: "beta",
          schema: { type: "array", items: INT64, minItems: 1, maxItems: MAX_IDS },
          example: [ADA.id],
        },
        q: {
          description:
            "Only the animals whose name has these words. Each begins a word of the name, in any order: `gold ret` finds `Golden Retriever`. Case and diacritics do not count. In scripts without spaces between words, a word may be anywhere in the name: `猫` finds `黒猫`. Without a word, nothing is found. With another filter, with several common words, and while the index of words is not current, a page may be short or empty and still have a next page: follow it.",

          stability: "beta",
          schema: { type: "string", minLength: 0, maxLength: MAX_SEARCH_CHARACTERS, pattern: ANY_TEXT },
          example: "ada",
        },
        externalId: {
          description: "Only the animal that has this identifier in another system. Not together with `id` or `q`.",
          stability: "beta",
          schema: { type: "string", ...CUSTOMER_TEXT },
          example: "SKU-0007",
        },
      },
      success: ok("Animals.", "ListedPets", [ADA]),
    },
    createPet: {
      stability: "stable",
      summary: "Add an animal",
      agents: "hidden",
      description: "With an `Idempotency-Key`, the animal is created exactly once, even if the request is repeated.",
      idempotencyKey: "animal",
      body: { description: "An animal", schema: "NewPet", example: { name: ADA.name, categoryId: ADA.categoryId } },
      success: added("The animal was created.", "Animal", ADA),
      errors: {
        invalid_request:
          "name is required: a string of 1 to 255 well-formed characters, not only white space; categoryId is required: an integer from -2^63 to 2^63 - 1.",
        external_id_taken: "Another animal has this externalId.",
      },
    },
    createPets: {
      stability: "beta",
      summary: "Add several animals",
      agents: {
        description:
          "Adds 1 to 100 animals, all or none, and returns them with their ids. status is available unless given. listCategories has the ids of categories.",
      },
      description:
        "Adds all animals or none, in one transaction. The response has them in the same order, with ascending ids. A message about an invalid animal names its place, counted from 0. With an `Idempotency-Key`, which covers the whole array, they are created exactly once. For each 10 animals begun after the first 10, the request counts once more against the rate limit.",
      idempotencyKey: "batch",
      body: {
        description: "Animals",
        schema: "NewPets",
        example: [{ name: ADA.name, categoryId: ADA.categoryId }],
      },
      success: added("The animals were created.", "Pets", [ADA]),
      errors: {
        invalid_request:
          "0: name is required: a string of 1 to 255 well-formed characters, not only white space; 0: categoryId is required: an integer from -2^63 to 2^63 - 1.",
        external_id_taken: "0: Another animal has this externalId.",
      },
    },
    updatePets: {
      stability: "beta",
      summary: "Change several animals",
      agents: {
        description:
          "Changes name, category or status of 1 to 100 animals, all or none. Name only what changes. With version, an animal that somebody else changed since is refused. An animal on order keeps its status until its order is shipped or cancelled.",
        refused: { status: { sold: "to sell an animal, call placeOrder, then updateOrder with status shipped" } },
      },
      description:
        "Changes all animals or none, in one transaction. Each item names its animal, the fields to change as in `updatePet`, and the `version` that the animal has to have, if any. The response has the animals in the same order, each with its version. An animal that its item does not change keeps its version. A message about an invalid or refused item names its place, counted from 0. With an `Idempotency-Key`, which covers the whole array, they are changed exactly once. `If-Match` and `If-None-Match` are a 400. For each 10 animals begun after the first 10, the request counts once more against the rate limit.",
      idempotencyKey: "batch",
      body: {
        description: "Changes",
        schema: "PetChanges",
        example: [{ id: ADA.id, status: "pending" }],
      },
      success: ok("The animals, as they are now.", "VersionedPets", [{ ...ADA, status: "pending", version: 2 }]),
      errors: {
        invalid_request: "0: status has to be one of available, pending, sold.",
        not_found: "0: There is no animal with this id.",
        pet_on_order:
          "0: An order decides the status of this animal: ship or cancel the order. After a shipment, the animal stays sold.",
        external_id_taken: "0: Another animal has this externalId.",
        precondition_failed: "0: The present version is another one.",
      },
    },
    importPets: {
      stability: "beta",
      summary: "Import animals",
      agents: {
        description:
          "Makes 1 to 100 animals what another system says, all or none: by externalId, an unknown one is added, one that differs changed, an equal one left. Leave status out, or an animal on order is refused.",
      },
      description:
        "Makes animals what another system says, all or none, in one transaction. `externalId` names the animal. An unknown one is created. One that differs is changed. An equal one keeps its version, and has no event. So a request can be sent again, and an import can run again: the state is the same. It takes no `Idempotency-Key` and ignores one. Without `status`, a new animal is available, and an existing one keeps its status. The status of an animal with an order that is not cancelled cannot change. Animals that the request lacks stay as they are. The response has the animals in the same order, each with its version and with what happened. A message about an invalid or refused item names its place, counted from 0. `If-Match` and `If-None-Match` are a 400. For each 10 animals begun after the first 10, the request counts once more against the rate limit.",
      body: { description: "Animals", schema: "ImportedPets", example: [IMPORTED] },
      success: ok("The animals, as they are now.", "UpsertedPets", [UPSERTED]),
      errors: {
        invalid_request: "0: externalId has to be a string of 1 to 255 visible ASCII characters.",
        pet_on_order: "0: An order decides the status of this animal. Leave status out.",
      },
    },
    getPet: {
      stability: "stable",
      summary: "Fetch an animal",
      agents: "hidden",
      description:
        "Deprecated. It will be removed on 5 December 2030. Use `listPets` with the `id` filter instead: `/pets?id=1`. It returns a list of one animal, or of none.",
      parameters: PET_ID,
      success: ok("The animal.", "Animal", ADA),
    },
    updatePet: {
      stability: "beta",
      summary: "Change an animal",
      agents: "hidden",
      description:
        "Applies a JSON Merge Patch (RFC 7396): the fields in it change. A patch that changes nothing leaves the version unchanged.",
      parameters: PET_ID,
      idempotencyKey: "change",
      body: { description: "The fields to change", schema: "PetPatch", example: { status: "pending" } },
      success: ok("The whole animal.", "Animal", { ...ADA, status: "pending" }),
      errors: {
        invalid_request: "status has to be one of available, pending, sold.",
        external_id_taken: "Another animal has this externalId.",
        pet_on_order:
          "An order decides the status of this animal: ship or cancel the order. After a shipment, the animal stays sold.",
      },
    },
    deletePet: {
      stability: "beta",
      summary: "Delete an animal",
      agents: {
        description:
          "Deletes an animal for good. An animal of an order that is not cancelled stays: the call is refused.",
      },
      description: "Deletes an animal. Its identifier is never used again.",
      parameters: PET_ID,
      success: { status: 204, description: "The animal is deleted." },
      errors: {
        pet_on_order: "An order that is not cancelled names this animal.",
      },
    },
  },
};

import type { Int64Field, Int64Input } from "./int64.ts";
import type { components, operations } from "./schema.ts";

type Schemas = components["schemas"];

/** A response: its 64-bit integers are `bigint`. */
type Exact<Shape> = { [Name in keyof Shape]: Name extends Int64Field ? bigint : Shape[Name] };

/** A request: its 64-bit integers may have any exact form, and an optional field may be undefined. */
type Input<Shape> = {
  [Name in keyof Shape]:
    | (Name extends Int64Field
        ? NonNullable<Shape[Name]> extends readonly unknown[]
          ? readonly Int64Input[]
          : Int64Input
        : Shape[Name])
    | ({} extends Pick<Shape, Name> ? undefined : never);
};

export type Animal = Exact<Schemas["Animal"]>;
export type NewPet = Input<Schemas["NewPet"]>;
export type PetPatch = Input<Schemas["PetPatch"]>;
/** A change of an animal that `updateMany` makes, of the `version` that it has to have. */
export type PetChange = Input<Schemas["PetChange"]>;
/** An animal with its version, for the next `PetChange`. */
export type VersionedAnimal = Exact<Schemas["VersionedAnimal"]>;
/** An animal as another system has it, which `upsert` takes. */
export type ImportedPet = Input<Schemas["ImportedPet"]>;
/** An animal with its version, and what `upsert` did to it. Other results may come with later versions of the service. */
export type UpsertedAnimal = VersionedAnimal & { result: Schemas["UpsertResult"] | (string & {}) };
export type PetStatus = Schemas["PetStatus"];

export type Category = Exact<Schemas["Category"]>;
export type NewCategory = Input<Schemas["NewCategory"]>;
export type CategoryPatch = Input<Schemas["CategoryPatch"]>;

export type Order = Omit<Exact<Schemas["Order"]>, "status"> & { status: OrderStatus };
export type NewOrder = Input<Schemas["NewOrder"]>;
export type OrderPatch = Input<Schemas["OrderPatch"]>;
/** Other states may come with later versions of the service. */
export type OrderStatus = Schemas["OrderStatus"] | (string & {});

/** What the service tells of an API key. */
export type Key = Schemas["Key"];

export type NewToken = Input<Schemas["NewToken"]>;
/** A token for a browser or a phone of a customer. */
export type Token = Schemas["Token"];

/** A resource that is deleted. */
export type Deleted = Exact<Schemas["Deleted"]>;

/** The types of events in this version. */
export type EventType = Schemas["EventType"];

/** What the `data` of an event is, by its type. */
export interface EventData {
  "pet.created": Animal;
  "pet.updated": Animal;
  "pet.deleted": Deleted;
  "category.created": Category;
  "category.updated": Category;
  "category.deleted": Deleted;
  "order.placed": Order;
  "order.shipped": Order;
  "order.cancelled": Order;
  "order.updated": Order;
}

interface EventOf<Type, Data> {
  /** Unique for good. */
  id: string;
  type: Type;
  /** When it happened, in UTC. */
  timestamp: string;
  /** The version of the resource after the change. */
  version: number;
  /** The resource after the change. Of a deleted one, its `id`. */
  data: Data;
}

/** A text that is not among the known types. As a `string`, it would make TypeScript take every type for an unknown one. */
declare enum OtherType {
  Text = "",
}

/** An event of a type that a later version of the service added. */
export type UnknownEvent = EventOf<OtherType, unknown>;

/** A change. Its `type` tells what its `data` is. */
export type PetStoreEvent = { [Type in EventType]: EventOf<Type, EventData[Type]> }[EventType] | UnknownEvent;

/** What a receiver of a webhook gets, beside the events: a test, and the order to list everything anew. */
export type WebhookMessage =
  | (Schemas["TestMessage"] & { version?: undefined })
  | (Schemas["FeedReset"] & { version?: undefined });

/** What a receiver of a webhook gets. Its `type` tells what its `data` is. */
export type WebhookEvent = PetStoreEvent | WebhookMessage;

export type Webhook = Exact<Schemas["Webhook"]>;
export type NewWebhook = Input<Schemas["NewWebhook"]>;
export type WebhookPatch = Input<Schemas["WebhookPatch"]>;
export type WebhookState = Schemas["WebhookState"];
export type WebhookTest = Schemas["WebhookTest"];
export type Delivery = Schemas["Delivery"];
export type DeliveryStatus = Schemas["DeliveryStatus"];

type Query<Operation extends "listPets" | "listCategories" | "listOrders" | "listWebhooks"> = Omit<
  Input<NonNullable<operations[Operation]["parameters"]["query"]>>,
  "include"
>;

/** Whether a list has versions. */
export type Etags = boolean | undefined;

/** A part of the query of a list. */
export interface WithEtags<Asked extends Etags> {
  /** Whether each item also has its `etag` and its `version`. Beta. */
  etags?: Asked;
}

/** An item of a list. */
export type Listed<Item, Asked extends Etags> = Asked extends true ? Item & { etag: string; version: number } : Item;

export type Inventory = Schemas["Inventory"];

export type PetQuery = Query<"listPets">;
export type CategoryQuery = Query<"listCategories">;
export type OrderQuery = Query<"listOrders">;
export type WebhookQuery = Query<"listWebhooks">;

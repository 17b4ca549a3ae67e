import { isDeepStrictEqual } from "node:util";
import type { PetStatus } from "../../../src/pets/table.ts";
import type { Journal, Placement, StatusPatch } from "./journal.ts";
import type { AnimalState, DatabaseSnapshot, OrderState, Snapshot } from "./snapshot.ts";

/**
 * Compares the responses of a sale with the final state.
 *
 * @returns a sentence for each violation of the rules of a sale.
 */
export function findViolations(journal: Journal, database: DatabaseSnapshot, service: Snapshot): string[] {
  const ordersOf = Map.groupBy(database.orders, ({ petId }) => petId);
  const patchesOf = Map.groupBy(journal.patches, ({ petId }) => petId);
  return [
    ...journal.mistakes,
    ...differences("animals", database.animals, service.animals),
    ...differences("orders", database.orders, service.orders),
    ...database.orders.flatMap((order) => orderViolations(order, journal)),
    ...placementViolations(journal.placements, database),
    ...database.animals.flatMap((animal) =>
      animalViolations(animal, ordersOf.get(animal.id) ?? [], patchesOf.get(animal.id) ?? []),
    ),
    ...deletionViolations(journal, database.animals, ordersOf),
  ];
}

function differences<State>(name: string, stored: State[], served: State[]): string[] {
  return isDeepStrictEqual(stored, served) ? [] : [`The service and the database disagree on the ${name}.`];
}

const isActive = ({ status }: OrderState) => status !== "cancelled";
const isEnded = ({ status }: OrderState) => status !== "placed";

/** An order ends once, and its state matches the responses. */
function orderViolations(order: OrderState, { endings }: Journal): string[] {
  const ending = endings.get(order.id);
  const version = isEnded(order) ? 2 : 1;
  return [
    ...(ending === undefined || ending === order.status
      ? []
      : [`Order ${order.id} is ${order.status}, and a client was told that it is ${ending}.`]),
    ...(order.version === version
      ? []
      : [`Order ${order.id} is ${order.status}, and has version ${order.version} instead of ${version}.`]),
  ];
}

/** Each order has one placement. Its client either received the order, or lost the response and can repeat the request. */
function placementViolations(placements: Placement[], { orders, keys }: DatabaseSnapshot): string[] {
  const violations: string[] = [];
  const byId = new Map(orders.map((order) => [order.id, order]));
  const explained = new Set<number>();
  for (const { petId, idempotencyKey, order, isRefused, lost } of placements) {
    const orderId = keys.get(idempotencyKey);
    if (order !== undefined) {
      const stored = byId.get(order.id);
      if (stored?.petId !== petId || stored.createdAt !== order.createdAt) {
        violations.push(`Order ${order.id} was returned with 201, and the database has ${JSON.stringify(stored)}.`);
      }
      if (orderId !== order.id) violations.push(`The key of order ${order.id} belongs to order ${orderId}.`);
    } else if (orderId !== undefined && (isRefused || lost === 0)) {
      violations.push(`A placement for animal ${petId} was refused, and its key belongs to order ${orderId}.`);
    }
    if (orderId === undefined) continue;
    if (byId.get(orderId)?.petId !== petId) violations.push(`The key for animal ${petId} belongs to order ${orderId}.`);
    if (explained.has(orderId)) violations.push(`Two keys belong to order ${orderId}.`);
    explained.add(orderId);
  }
  const untold = orders.filter(({ id }) => !explained.has(id));
  return [
    ...violations,
    ...untold.map(({ id }) => `No response has order ${id}, and no Idempotency-Key belongs to it.`),
  ];
}

/** The orders and the patches of an animal explain its status and its version. */
function animalViolations(animal: AnimalState, orders: OrderState[], patches: StatusPatch[]): string[] {
  const { id, status, version } = animal;
  const active = orders.filter(isActive);
  const told = patches.filter((patch) => patch.version !== undefined);
  const lost = patches.reduce((sum, patch) => sum + patch.lost, 0);
  const least = 1 + orders.length + orders.filter(isEnded).length + told.length;
  const expected = expectedStatuses(animal, active, patches);
  return [
    ...(active.length > 1 ? [`Animal ${id} has ${active.length} orders that are not cancelled.`] : []),
    ...(expected.has(status) ? [] : [`Animal ${id} is ${status} instead of ${[...expected].join(" or ")}.`]),
    ...(version >= least && version <= least + lost
      ? []
      : [`Animal ${id} has version ${version}, and ${least} to ${least + lost} changes with its creation.`]),
    ...(new Set(told.map((patch) => patch.version)).size === told.length
      ? []
      : [`Two patches of animal ${id} were answered with one version.`]),
  ];
}

/** A patch whose response was lost may have been the last. */
function expectedStatuses({ version }: AnimalState, active: OrderState[], patches: StatusPatch[]): Set<PetStatus> {
  // Compares the animal with all patches.
  if (active.some((order) => order.status === "placed")) return new Set(["pending"]);
  const last = patches.find((patch) => patch.version === version);
  if (last !== undefined) return new Set([last.status]);
  const perhapsLast = patches.filter(({ lost }) => lost > 0).map((patch) => patch.status);
  return new Set([active.length > 0 ? "sold" : "available", ...perhapsLast]);
}

/** An animal is missing only if it was deleted, and never while an order that is not cancelled names it. */
function deletionViolations(
  { animals, deleted, perhapsDeleted }: Journal,
  stored: AnimalState[],
  ordersOf: Map<number, OrderState[]>,
): string[] {
  const left = new Set(stored.map(({ id }) => id));
  return [...animals].flatMap((id) => [
    ...(deleted.has(id) && left.has(id) ? [`Animal ${id} was deleted, and is there.`] : []),
    ...(left.has(id) || deleted.has(id) || perhapsDeleted.has(id)
      ? []
      : [`Nobody deleted animal ${id}, and it is gone.`]),
    ...(!left.has(id) && ordersOf.get(id)?.some(isActive) ? [`Animal ${id} is gone, and an order names it.`] : []),
  ]);
}

import type { Context } from "hono";
import type { AppEnv } from "../env.ts";
import { ApiError } from "../errors.ts";
import type { Int64 } from "../exact/int64.ts";
import { idInPath } from "../http/path.ts";

/**
 * The id in the path.
 *
 * @throws ApiError `not_found`
 */
export function petId(c: Context<AppEnv, "/:petId">): Int64 {
  return idInPath(c.req.param("petId"), noSuchPet);
}

export function noSuchPet(): ApiError {
  return new ApiError("not_found", "There is no animal with this id.");
}

/** The failure of a change of the status of an animal that a placed order holds. */
export const petHeld = () =>
  petOnOrder("A placed order holds this animal: ship or cancel the order, which changes the status.");

export function petOnOrder(message: string): ApiError {
  return new ApiError("pet_on_order", message);
}

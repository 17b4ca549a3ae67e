import { expect, test } from "vitest";
import { create } from "../support/client.ts";
import { grantToken, key } from "../support/keys.ts";
import { connect } from "./listener.ts";

const REX = { name: "Rex", categoryId: 1 };

test("a socket gets the present place at once, and then each change", async () => {
  const one = await (await connect({ key })).started();
  expect(one.pages).toEqual([
    { events: [], cursor: expect.stringMatching(/^[0-9a-f]{32}$/), more: false, bookmark: expect.any(String) },
  ]);
  await create("/v1/pets", REX);
  await create("/v1/categories", { name: "Dogs" });
  expect(await one.heard(2)).toEqual(["pet.created 1", "category.created 1"]);
  one.socket.send("ping");
  const two = await (await connect({ key, query: `cursor=${one.pages[0]?.cursor}` })).started();
  expect(two.events).toEqual(one.events);
  const token = await grantToken(key);
  const page = await (await connect({ protocols: `petstore.live.v1, ${token}` })).started();
  expect(page.protocol).toBe("petstore.live.v1");
  expect(one.texts).toContain("pong");
  const bad = await connect({ protocols: `petstore.live.v1, ${token}x` });
  expect(await bad.end()).toEqual({ code: 4401, reason: "unauthorized" });
});

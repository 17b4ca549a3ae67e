import { describe, expect, test } from "vitest";
import { type AddressSettings, receiverUrl } from "../../src/webhooks/url.ts";

const PRODUCTION: AddressSettings = { ENVIRONMENT: "production", WEBHOOK_DENIED_HOSTS: "" };
const LOCAL: AddressSettings = { ENVIRONMENT: "local" };

test.each([
  ["https://hooks.shop.com", "https://hooks.shop.com/"],
  ["https://hooks.shop.com/pets?from=store", "https://hooks.shop.com/pets?from=store"],
  ["HTTPS://Hooks.Shop.COM:443/a/../b", "https://hooks.shop.com/b"],
  ["https://receiver.account.workers.dev/", "https://receiver.account.workers.dev/"],
  ["https://bücher.shop.com/", "https://xn--bcher-kva.shop.com/"],
  ["https://localhost.shop.com/", "https://localhost.shop.com/"],
  ["https://private.intranet.shop.com/", "https://private.intranet.shop.com/"],
  ["https://hooks.example.com/", "https://hooks.example.com/"],
  ["https://hooks.home.shop/", "https://hooks.home.shop/"],
  ["https://svc-docker.com/", "https://svc-docker.com/"],
])("%s is an address of a receiver, in the form of URL.href", (text, href) => {
  expect(receiverUrl(text, PRODUCTION)).toBe(href);
});

// Promise: addresses
describe.each([["production" as const], ["staging" as const], ["local" as const]])("in %s", (ENVIRONMENT) => {
  test.each(
    [
      // Not an address, or of another protocol.
      ["", "hooks.shop.com", "//hooks.shop.com", "http://hooks.shop.com/", "data:,ok", "ftp://hooks.shop.com/"],
      ["file:///etc/passwd", "javascript:alert(1)", "blob:https://hooks.shop.com/x", "wss://hooks.shop.com/"],
      // Port, user, password, fragment.
      ["https://hooks.shop.com:8443/", "https://me@hooks.shop.com/", "https://me:pw@hooks.shop.com/"],
      ["https://:pw@hooks.shop.com/", "https://hooks.shop.com/#a", "https://hooks.shop.com/#"],
      // IPv4: decimal, hexadecimal, octal, short, full-width, with a dot at the end.
      ["https://127.0.0.1/", "https://2130706433/", "https://0x7f000001/", "https://0x7f.1/", "https://0177.0.0.1/"],
      ["https://127.1/", "https://127.0.0.1./", "https://0.0.0.0/", "https://１２７.０.０.１/", "https://8.8.8.8/"],
      ["https://169.254.169.254/", "https://%31%32%37.0.0.1/", "https://127。0。0。1/", "https://0/"],
      // IPv6, also mapped.
      [
        "https://[::1]/",
        "https://[::ffff:7f00:1]/",
        "https://[::ffff:127.0.0.1]/",
        "https://[fd00::1]/",
        "https://[::]/",
      ],
      // Names that are not public.
      ["https://localhost/", "https://localhost./", "https://LOCALHOST/", "https://ⓛocalhost/", "https://a.localhost/"],
      ["https://printer.local/", "https://metadata.google.internal/", "https://nas.lan/", "https://box.home/"],
      ["https://wiki.corp/", "https://1.0.0.127.in-addr.arpa/", "https://abc.onion/", "https://a.invalid/"],
      ["https://shop.home.arpa/", "https://a.alt/", "https://wiki.intranet/", "https://db.private/"],
      ["https://box.localdomain/", "https://api.default.svc/", "https://a.cluster/", "https://host.docker/"],
      ["https://api.default.svc.cluster.local/", "https://host.docker.internal/", "https://A.Private/"],
      ["https://a.test/", "https://hooks.example/", "https://intranet/", "https://hooks.shop.com./", "https://a..com/"],
      ["https://under_score.shop.com/", "https://shop.1com/", "https://*.shop.com/", "https://a%00.shop.com/"],
      // Too long.
      [`https://hooks.shop.com/${"a".repeat(1_978)}`, `https://hooks.shop.com/${"é".repeat(400)}`],
      [`https://${"a".repeat(64)}.com/`, `https://${"a.".repeat(130)}com/`],
    ].flat(),
  )("%s is not an address of a receiver", (text) => {
    expect(receiverUrl(text, { ENVIRONMENT })).toBeUndefined();
  });
});

test("the longest address has 2,000 characters", () => {
  const longest = `https://hooks.shop.com/${"a".repeat(1_977)}`;
  expect(longest).toHaveLength(2_000);
  expect(receiverUrl(longest, PRODUCTION)).toBe(longest);
});

// Promise: local-addresses
test.each(["http://127.0.0.1:8788/hook", "http://localhost/", "http://localhost:1/"])(
  "%s is an address in local development only",
  (text) => {
    expect(receiverUrl(text, LOCAL)).toBe(text);
    expect(receiverUrl(text, PRODUCTION)).toBeUndefined();
    expect(receiverUrl(text, { ENVIRONMENT: "staging" })).toBeUndefined();
  },
);

test.each([
  "http://me@localhost/",
  "http://127.0.0.1/#a",
  "http://192.168.0.1/",
  "http://shop.com/",
  "https://localhost/",
])("%s is not an address in local development either", (text) => {
  expect(receiverUrl(text, LOCAL)).toBeUndefined();
});

test.each([
  ".evil.com",
  "*.evil.com",
  "evil.com.",
  "https://evil.com",
  "evil.com:443",
  "evil.com/",
  "\u00e9vil.com",
  "shop.com; evil.com",
  "shop.com evil.com",
  "good.com,*.evil.com",
  "*.evil.com,good.com",
])("a setting of denied hosts that is not understood denies every host: %s", (setting) => {
  for (const text of ["https://evil.com/", "https://shop.petstore.com/"])
    expect(receiverUrl(text, { ...PRODUCTION, WEBHOOK_DENIED_HOSTS: setting })).toBeUndefined();
});

test.each([
  ["https://api.petstore.com/", false],
  ["https://petstore.com/", false],
  ["https://bank.co.uk/", false],
  ["https://notpetstore.com/", true],
  ["https://petstore.com.shop.com/", true],
])("denied hosts and their subdomains: %s", (text, isAllowed) => {
  const settings = { ...PRODUCTION, WEBHOOK_DENIED_HOSTS: "PetStore.com, bank.co.uk," };
  expect(receiverUrl(text, settings) !== undefined).toBe(isAllowed);
});

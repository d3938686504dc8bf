/** Refusals of many proxies, grouped by what they blame. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { ProxyRefusal } from "@flotilla/model";
import { typeUrl } from "@flotilla/proto";
import { groupRejections } from "./rejection-groups.ts";

const words =
  "Proto constraint validation failed (RouteConfigurationValidationError.VirtualHosts[0]: embedded message failed validation | caused by VirtualHostValidationError.Domains: value must contain at least 1 item(s))";

const aRefusal = (proxy: string, of: Partial<ProxyRefusal> = {}): ProxyRefusal => ({
  proxy,
  typeUrl: typeUrl.route,
  resources: ["80"],
  objects: ["VirtualService/shop/reviews"],
  message: words,
  position: 7,
  atMs: 2_000,
  ...of,
});

describe("groups of rejections", () => {
  it("are one for each object and type, with the field that Envoy names and all proxies", () => {
    const groups = groupRejections([
      aRefusal("b.shop", { atMs: 3_000, position: 8 }),
      aRefusal("a.shop", { sinceMs: 1_000 }),
    ]);
    assert.deepEqual(groups, [
      {
        object: "VirtualService/shop/reviews",
        type: "rds",
        resources: ["80"],
        message: words,
        field: "VirtualHost.Domains",
        firstAt: "1970-01-01T00:00:01.000Z",
        lastAt: "1970-01-01T00:00:03.000Z",
        proxies: ["a.shop", "b.shop"],
        proxyCount: 2,
        generation: 8,
      },
    ]);
  });

  it("have each of several objects that one blames, and what blames none by its words", () => {
    const groups = groupRejections([
      aRefusal("a.shop", { objects: ["Gateway/shop/edge", "VirtualService/shop/reviews"] }),
      aRefusal("a.shop", { objects: [], message: "no listener", atMs: 9_000 }),
    ]);
    assert.deepEqual(
      groups.map(({ object, message }) => object ?? message),
      ["no listener", "Gateway/shop/edge", "VirtualService/shop/reviews"],
    );
  });
});

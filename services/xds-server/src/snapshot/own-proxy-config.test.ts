import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { JsonObject } from "@flotilla/proto";
import { ownConfigProblems, ownPart } from "./own-proxy-config.ts";

const proxyWith = (config: unknown) => ({ metadata: { PROXY_CONFIG: config } as JsonObject });
const fieldsOf = (config: unknown) => ownConfigProblems(proxyWith(config)).map(({ field }) => field);
const holding = (config: JsonObject) => ({ proxyConfig: (path: string) => ({ value: config[path] }) });

describe("fields of a proxy's own ProxyConfig that cannot be read", () => {
  const cases: readonly (readonly [name: string, config: unknown, fields: readonly string[]])[] = [
    ["none in one that is right", { proxyHeaders: { server: { value: "a" } }, tracing: { sampling: 5 } }, []],
    ["none in one that sets nothing", { proxyHeaders: null }, []],
    ["none in fields of a newer version", { proxyHeaders: { later: "x" }, later: 1 }, []],
    ["the whole that is no object", "x", ["PROXY_CONFIG"]],
    ["a part that is no object", { proxyHeaders: "x", tracing: [1] }, ["proxyHeaders", "tracing"]],
    [
      "each field of no known form",
      {
        proxyHeaders: { server: "x", requestId: 5, envoyDebugHeaders: {} },
        gatewayTopology: { numTrustedProxies: -1 },
      },
      ["proxyHeaders.server", "proxyHeaders.requestId", "gatewayTopology.numTrustedProxies"],
    ],
  ];
  for (const [name, config, fields] of cases) it(name, () => assert.deepEqual(fieldsOf(config), fields));

  it("have a reason", () => {
    const [problem] = ownConfigProblems(proxyWith({ tracing: { sampling: "often" } }));
    assert.match(problem?.reason ?? "", /Tracing/);
  });

  it("are not there without a ProxyConfig", () => assert.deepEqual(ownConfigProblems({ metadata: {} }), []));
});

describe("a part of a proxy's own ProxyConfig", () => {
  it("keeps the fields that can be read", () => {
    const tracing = ownPart(holding({ tracing: { sampling: 7, maxPathTagLength: "long" } }), "tracing")?.value;
    assert.deepEqual([tracing?.sampling, tracing?.maxPathTagLength], [7, 0]);
  });

  it("is not there where one field is written twice, in both spellings", () => {
    const twice = { gatewayTopology: { numTrustedProxies: 1, num_trusted_proxies: 2 } };
    assert.deepEqual(
      [ownPart(holding(twice), "gatewayTopology")?.value, fieldsOf(twice)],
      [undefined, ["gatewayTopology"]],
    );
  });

  it("is the mesh's where the proxy was started without a ProxyConfig", () =>
    assert.equal(ownPart({ proxyConfig: () => undefined }, "tracing"), undefined));
});

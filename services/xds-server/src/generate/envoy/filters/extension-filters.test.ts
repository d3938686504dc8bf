/** Filters of extensions: those that are for a chain, around the policies of the workload in Istio's order. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { create } from "@flotilla/proto";
import { HttpFilterSchema } from "@flotilla/proto/envoy/extensions/filters/network/http_connection_manager/v3/http_connection_manager_pb";
import { type ExtensionFilter, httpPolicyFilters, networkPolicyFilters } from "./extension-filters.ts";

const extension = (name: string, more: Partial<ExtensionFilter> = {}): ExtensionFilter => ({
  ...{ name, phase: "unspecified", layer: "http", match: [] },
  ...more,
});
const policy = (name: string) => create(HttpFilterSchema, { name });
const inbound = { side: "inbound", port: 80 } as const;

it("extensions stand around policies by their phase", () => {
  const phases = ["unspecified", "stats", "authz", "authn"] as const;
  const filters = httpPolicyFilters(
    phases.map((phase) => extension(phase, { phase })),
    inbound,
    { asked: [policy("asked")], authentication: [policy("jwt")], decided: [policy("rbac")] },
  );
  assert.deepEqual(
    filters.map(({ name }) => name),
    ["asked", "authn", "jwt", "authz", "rbac", "stats", "unspecified"],
  );
});

describe("an extension", () => {
  const any: readonly number[] = [];
  const cases: readonly (readonly [name: string, match: ExtensionFilter["match"], is: boolean])[] = [
    ["is everywhere without a match", [], true],
    ["is on its side", [{ side: "inbound", ports: any }], true],
    ["is on both sides", [{ side: "both", ports: any }], true],
    ["is not on the other side", [{ side: "outbound", ports: any }], false],
    ["is at its port", [{ side: "both", ports: [79, 80] }], true],
    ["is not at another port", [{ side: "inbound", ports: [81] }], false],
    [
      "is where one of its matches is",
      [
        { side: "outbound", ports: [80] },
        { side: "inbound", ports: [80] },
      ],
      true,
    ],
  ];
  for (const [name, match, is] of cases)
    it(name, () => assert.equal(httpPolicyFilters([extension("e", { match })], inbound).length, is ? 1 : 0));

  it("is in chains of its layer alone, and its configuration is discovered there", () => {
    const [http, network] = [extension("h"), extension("n", { layer: "network" })];
    const [ofRequests, ...more] = httpPolicyFilters([http, network], inbound);
    const [ofConnections, ...others] = networkPolicyFilters([http, network], inbound);
    assert.deepEqual([more, others], [[], []]);
    assert.deepEqual([ofRequests?.name, ofConnections?.name], ["h", "n"]);
    const typesOf = (one: typeof ofRequests | typeof ofConnections) =>
      one?.configType.case === "configDiscovery" ? one.configType.value.typeUrls : [];
    for (const [one, layer] of [
      [ofRequests, "http"],
      [ofConnections, "network"],
    ] as const)
      assert.deepEqual(typesOf(one), [
        `type.googleapis.com/envoy.extensions.filters.${layer}.wasm.v3.Wasm`,
        `type.googleapis.com/envoy.extensions.filters.${layer}.rbac.v3.RBAC`,
      ]);
  });
  it("of Lua has its code in place", () => {
    const [filter] = httpPolicyFilters([extension("l", { lua: "-- code" })], inbound);
    assert.equal(filter?.configType.case, "typedConfig");
  });
});

/** `pilot_envoy_filter_status`, from patches of a mesh to the text that Prometheus reads. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { type Config, configKeyText } from "@flotilla/model";
import { type JsonObject, typeUrl } from "@flotilla/proto";
import { createMetrics } from "@flotilla/runtime";
import { nameSet } from "@flotilla/xds";
import { Core } from "../app/core.ts";
import { parseFeatures } from "../snapshot/features.ts";
import { aConfig, apply, aService, aSidecar, put } from "../testing/mesh.ts";
import { declareEnvoyFilterMetric } from "./envoy-filter-metric.ts";

const name = "pilot_envoy_filter_status";
const service = aService("a", "shop");
const filterOf = (called: string, ...configPatches: readonly JsonObject[]) =>
  aConfig("EnvoyFilter", "shop", called, { configPatches: [...configPatches] });
const onCluster = (wanted: string, value: JsonObject = { connect_timeout: "7s" }): JsonObject => ({
  applyTo: "CLUSTER",
  match: { cluster: { service: wanted } },
  patch: { operation: "MERGE", value },
});
const onRoute = (host: string): JsonObject => ({
  applyTo: "HTTP_ROUTE",
  match: { routeConfiguration: { vhost: { name: host } } },
  patch: { operation: "MERGE", value: { route: { timeout: "5s" } } },
});
const lua: JsonObject = {
  applyTo: "HTTP_FILTER",
  match: { context: "SIDECAR_OUTBOUND", listener: { filterChain: { filter: { subFilter: { name: "router" } } } } },
  patch: { operation: "INSERT_BEFORE", value: { name: "envoy.filters.http.lua" } },
};
const tls: JsonObject = {
  transport_socket: {
    name: "envoy.transport_sockets.tls",
    typed_config: { "@type": "type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.UpstreamTlsContext" },
  },
};
/** A transport socket whose type does not fit its name. */
const wrongSocket: JsonObject = {
  transport_socket: {
    name: "envoy.transport_sockets.tls",
    typed_config: { "@type": "type.googleapis.com/envoy.extensions.transport_sockets.raw_buffer.v3.RawBuffer" },
  },
};

/** A mesh with one proxy that gets all resources. */
function watched(env: Readonly<Record<string, string>>, ...filters: readonly Config[]) {
  const core = new Core({ features: parseFeatures(env) });
  const metrics = createMetrics();
  const inputs = new Map<string, ReturnType<typeof put>[number]>();
  const set = (...configs: readonly Config[]) => {
    for (const change of put(...configs)) inputs.set(configKeyText(change.key as Config["key"]), change);
    apply(core, ...configs);
  };
  apply(core, service);
  set(...filters);
  const subject = core.subjectOf(aSidecar("shop"));
  const kept = [
    core.observe(subject, typeUrl.cluster, undefined, () => undefined),
    core.observe(subject, typeUrl.listener, undefined, () => undefined),
    core.observe(subject, typeUrl.route, nameSet(["80"]), () => undefined),
  ];
  declareEnvoyFilterMetric(metrics, { inputs: () => inputs.values(), outcomes: () => core.patchOutcomes() });
  return {
    core,
    set: (...configs: readonly Config[]) => {
      set(...configs);
      for (const one of kept) one?.again();
    },
    series: async () =>
      (await metrics.text())
        .split("\n")
        .flatMap((line) => (line.startsWith(`${name}{`) ? [line.slice(name.length)] : [])),
  };
}
const on = { PILOT_ENVOY_FILTER_STATS: "true" };
const host = "a.shop.svc.cluster.local";

describe("the status of EnvoyFilters", () => {
  it("is 1 for kinds of patches that changed something, and 0 for those that did not", async () => {
    const { series } = watched(
      on,
      filterOf("f", onCluster(host), onCluster("elsewhere"), onRoute(`${host}:80`)),
      filterOf("g", onCluster("elsewhere"), lua),
    );
    assert.deepEqual(await series(), [
      '{name="shop/f",patch="cluster",result="applied"} 1',
      '{name="shop/f",patch="route",result="applied"} 1',
      '{name="shop/g",patch="cluster",result="applied"} 0',
      '{name="shop/g",patch="httpfilter",result="applied"} 0',
    ]);
  });

  it("has an error where a patch cannot be used on what it is for", async () => {
    const { series } = watched(on, filterOf("f", onCluster(host, tls), onCluster(host, wrongSocket)));
    assert.deepEqual(await series(), [
      '{name="shop/f",patch="cluster",result="applied"} 1',
      '{name="shop/f",patch="cluster",result="error"} 1',
    ]);
  });

  it("follows objects: what is changed so that it matches nothing is 0, what is gone has no series", async () => {
    const { series, set } = watched(on, filterOf("f", onCluster(host)));
    set(filterOf("f", onCluster("elsewhere")));
    assert.deepEqual(await series(), ['{name="shop/f",patch="cluster",result="applied"} 0']);
    set(filterOf("f"));
    assert.deepEqual(await series(), []);
  });

  it("is no finding, and has no series without the setting", async () => {
    assert.deepEqual(watched(on, filterOf("f", onCluster(host))).core.findings(), []);
    assert.deepEqual(await watched({}, filterOf("f", onCluster(host))).series(), []);
  });
});

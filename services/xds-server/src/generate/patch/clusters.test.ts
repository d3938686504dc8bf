import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { fromJson, type JsonValue, toJson } from "@flotilla/proto";
import { ClusterSchema } from "@flotilla/proto/envoy/config/cluster/v3/cluster_pb";
import { aPatch, noteProblems } from "../../testing/patches.ts";
import { addedClusters, clusterPatches, patchCluster } from "./clusters.ts";
import { Context } from "./patch.ts";

const outbound = "outbound|80|v1|api.shop.svc.cluster.local";
const tls = "type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.UpstreamTlsContext";
const socket = (fields: object, name = "tls") => ({ name, typedConfig: { "@type": tls, ...fields } });

function patched(cluster: object, ...patches: readonly (readonly [operation: string, value: object])[]) {
  const reports: string[] = [];
  const read = aPatch(...patches.map(([operation, value]) => ({ applyTo: "CLUSTER", patch: { operation, value } })));
  const message = fromJson(ClusterSchema, cluster as JsonValue);
  const result = patchCluster(message, read, noteProblems(reports));
  return { json: result && toJson(ClusterSchema, result), reports };
}

describe("matches of CLUSTER patches", () => {
  const cases: readonly (readonly [name: string, match: object, at: string, hosts: readonly string[], boolean])[] = [
    ["everything without a match", {}, outbound, [], true],
    ["the name", { cluster: { name: outbound } }, outbound, [], true],
    ["a name alone, whatever else is asked for", { cluster: { name: outbound, portNumber: 9 } }, outbound, [], true],
    ["not another name", { cluster: { name: "x" } }, outbound, [], false],
    [
      "service, port and subset",
      { cluster: { service: "api.shop.svc.cluster.local", portNumber: 80, subset: "v1" } },
      outbound,
      [],
      true,
    ],
    [
      "service, port and subset of a cluster that passes mutual TLS on",
      { cluster: { service: "api.shop.svc.cluster.local", portNumber: 80, subset: "v1" } },
      "outbound_.80_.v1_.api.shop.svc.cluster.local",
      [],
      true,
    ],
    ["not another port", { cluster: { portNumber: 81 } }, outbound, [], false],
    ["not another subset", { cluster: { subset: "v2" } }, outbound, [], false],
    ["not another service", { cluster: { service: "web.shop.svc.cluster.local" } }, outbound, [], false],
    [
      "a service behind an inbound cluster",
      { context: "SIDECAR_INBOUND", cluster: { service: "a" } },
      "inbound|80||",
      ["a", "b"],
      true,
    ],
    [
      "not a service elsewhere",
      { context: "SIDECAR_INBOUND", cluster: { service: "c" } },
      "inbound|80||",
      ["a"],
      false,
    ],
    ["not what is in another context", { context: "GATEWAY" }, outbound, [], false],
    ["no cluster by a port, where the name has none", { cluster: { portNumber: 80 } }, "PassthroughCluster", [], false],
  ];
  for (const [name, match, at, hosts, expected] of cases)
    it(name, () => {
      const patches = aPatch({ applyTo: "CLUSTER", match, patch: { operation: "MERGE", value: { name: "x" } } });
      const context = at.startsWith("inbound") ? Context.SIDECAR_INBOUND : Context.SIDECAR_OUTBOUND;
      assert.equal(clusterPatches(patches, { name: at, context, hosts }).length, expected ? 1 : 0);
    });
});

describe("CLUSTER patches", () => {
  it("merge in order: scalars and durations are replaced, lists appended, messages joined", () => {
    const { json } = patched(
      { name: "a", connectTimeout: "10.5s", circuitBreakers: { thresholds: [{ maxRequests: 1 }] } },
      ["MERGE", { connectTimeout: "2s", circuitBreakers: { thresholds: [{ maxRetries: 2 }] } }],
      ["MERGE", { connectTimeout: "3s", upstreamBindConfig: { freebind: true } }],
    );
    assert.deepEqual(json, {
      name: "a",
      connectTimeout: "3s",
      circuitBreakers: { thresholds: [{ maxRequests: 1 }, { maxRetries: 2 }] },
      upstreamBindConfig: { freebind: true },
    });
  });

  it("replace lists where they say so", () => {
    const { json } = patched({ name: "a", filters: [{ name: "one" }], connectTimeout: "1s" }, [
      "MERGE_AND_REPLACE_LIST",
      { filters: [{ name: "two" }] },
    ]);
    assert.deepEqual(json, { name: "a", connectTimeout: "1s", filters: [{ name: "two" }] });
  });

  it("merge a transport socket into the one of its name, within its config, and leave the rest of the patch", () => {
    const { json } = patched({ name: "a", transportSocket: socket({ sni: "a" }) }, [
      "MERGE",
      { connectTimeout: "9s", transportSocket: socket({ allowRenegotiation: true }) },
    ]);
    assert.deepEqual(json, { name: "a", transportSocket: socket({ allowRenegotiation: true, sni: "a" }) });
  });

  it("replace a transport socket of another name, or put it where there was none, and leave the rest of the patch", () => {
    const patch = [
      "MERGE",
      { lbPolicy: "RANDOM", transportSocket: { ...socket({ sni: "b" }), name: "other" } },
    ] as const;
    const wanted = { name: "a", transportSocket: { ...socket({ sni: "b" }), name: "other" } };
    assert.deepEqual(patched({ name: "a" }, patch).json, wanted);
    assert.deepEqual(patched({ name: "a", transportSocket: socket({ sni: "a" }) }, patch).json, wanted);
  });

  it("leave a cluster as it was when a config is of another type, and say so", () => {
    const raw = { "@type": "type.googleapis.com/envoy.extensions.transport_sockets.raw_buffer.v3.RawBuffer" };
    const before = { name: "a", transportSocket: socket({ sni: "a" }) };
    const { json, reports } = patched(before, ["MERGE", { transportSocket: { name: "tls", typedConfig: raw } }]);
    assert.deepEqual(json, before);
    assert.match(
      reports.join(),
      /^0: a typed config of envoy.*RawBuffer cannot be merged into one of envoy.*UpstreamTlsContext$/,
    );
  });

  it("remove a cluster whatever else they do", () => {
    assert.equal(patched({ name: "a" }, ["MERGE", { connectTimeout: "1s" }], ["REMOVE", {}]).json, undefined);
  });

  it("add clusters in their contexts; whatever inserts adds", () => {
    const patches = aPatch(
      { applyTo: "CLUSTER", match: { context: "SIDECAR_OUTBOUND" }, patch: { operation: "ADD", value: { name: "a" } } },
      { applyTo: "CLUSTER", patch: { operation: "INSERT_FIRST", value: { name: "b" } } },
      { applyTo: "CLUSTER", match: { context: "GATEWAY" }, patch: { operation: "ADD", value: { name: "c" } } },
    );
    const names = (contexts: readonly Context[]) => addedClusters(patches, contexts).map(({ value }) => value?.name);
    assert.deepEqual(names([Context.SIDECAR_INBOUND, Context.SIDECAR_OUTBOUND]), ["a", "b"]);
    assert.deepEqual(names([Context.GATEWAY]), ["b", "c"]);
  });
});

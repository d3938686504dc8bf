/** Clusters of sidecars towards workloads of the ambient mesh. Source: istiod asked, random meshes. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { parseNode } from "@flotilla/model";
import { typeUrl } from "@flotilla/proto";
import { Core } from "../../app/core.ts";
import { aConfig, anEndpoint, aPort, apply, aService, resourceOf } from "../../testing/mesh.ts";

const sidecar = parseNode({
  id: "sidecar~10.0.0.7~cli.side~side.svc.cluster.local",
  locality: { region: "", zone: "", subzone: "" },
  metadata: { NAMESPACE: "side", CLUSTER_ID: "Kubernetes" },
});
const ports = [aPort("http", 80, "HTTP"), aPort("tcp", 90, "TCP"), aPort("none", 70, "TCP")];
const web = aService("web", "shop", { clusterVips: { Kubernetes: ["10.96.0.1"] }, ports });

test("only the endpoints of its port decide whether a cluster exchanges metadata", () => {
  const core = new Core({ features: { ambient: true } });
  apply(core, web);
  const { namespace, hostname } = web;
  const captured = { takesHbone: true };
  const value = [
    anEndpoint("10.0.0.1", { ...captured, servicePortName: "http" }),
    anEndpoint("10.0.0.1", { ...captured, servicePortName: "tcp" }),
    anEndpoint("10.0.0.2", { servicePortName: "tcp" }),
  ];
  const key = { shard: "Kubernetes/Kubernetes", namespace, hostname };
  core.apply([{ type: "endpoints", op: "put", key, value }]);
  const isOff = (port: number) => {
    const cluster = resourceOf(core, sidecar, typeUrl.cluster, `outbound|${port}||${hostname}`);
    assert.ok(cluster !== undefined);
    return JSON.stringify(cluster).includes('"disable_mx":true');
  };
  assert.deepEqual([isOff(80), isOff(90), isOff(70)], [true, false, false]);
});

const tlsCases = [
  { name: "the mesh's own by endpoint", tls: undefined, want: ["hbone", "tlsMode-disabled"] },
  { name: "stated TLS for all endpoints", tls: { mode: "SIMPLE" }, want: ["envoy.transport_sockets.tls"] },
  { name: "none", tls: { mode: "DISABLE" }, want: [] },
] as const;

for (const { name, tls, want } of tlsCases)
  test(`callers that choose the endpoint themselves use HBONE beside no TLS of a rule: ${name}`, () => {
    const core = new Core({ features: { ambient: true } });
    apply(core, { ...web, clusterVips: {}, resolution: "passthrough" });
    if (tls !== undefined) {
      const rule = aConfig("DestinationRule", "shop", "web", { host: web.hostname, trafficPolicy: { tls } });
      core.apply([{ type: "config", op: "put", key: rule.key, value: rule }]);
    }
    const cluster = resourceOf(core, sidecar, typeUrl.cluster, `outbound|80||${web.hostname}`);
    const { transportSocket, transportSocketMatches = [] } = (cluster ?? {}) as {
      readonly transportSocket?: { readonly name: string };
      readonly transportSocketMatches?: readonly { readonly name: string }[];
    };
    const sockets = [...transportSocketMatches, ...(transportSocket === undefined ? [] : [transportSocket])];
    assert.deepEqual(
      sockets.map((socket) => socket.name),
      want,
    );
  });

test("a service outside of the mesh whose endpoints all take HBONE is not marked as external", () => {
  const core = new Core({ features: { ambient: true } });
  const outside = { ...web, registry: "External", meshExternal: true } as const;
  apply(core, outside);
  const { namespace, hostname } = outside;
  const value = [
    anEndpoint("10.0.0.1", { servicePortName: "http", takesHbone: true }),
    anEndpoint("10.0.0.1", { servicePortName: "tcp" }),
  ];
  core.apply([{ type: "endpoints", op: "put", key: { shard: "External/Kubernetes", namespace, hostname }, value }]);
  const isExternal = (port: number) =>
    JSON.stringify(resourceOf(core, sidecar, typeUrl.cluster, `outbound|${port}||${hostname}`)).includes(
      '"external":true',
    );
  assert.deepEqual([isExternal(80), isExternal(90)], [false, true]);
});

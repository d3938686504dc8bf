/** Clusters of sidecars towards workloads of the ambient mesh. Source: istiod asked, random meshes. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { parseNode } from "@flotilla/model";
import { typeUrl } from "@flotilla/proto";
import { Core } from "../../app/core.ts";
import { anEndpoint, aPort, apply, aService, resourceOf } from "../../testing/mesh.ts";

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

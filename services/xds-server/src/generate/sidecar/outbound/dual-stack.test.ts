import assert from "node:assert/strict";
import { test } from "node:test";
import type { Change } from "@flotilla/model";
import { typeUrl } from "@flotilla/proto";
import { Core } from "../../../app/core.ts";
import { aConfig, anEndpoint, aPort, apply, aService, aSidecar, namesOf, resourceOf } from "../../../testing/mesh.ts";

const mesh = aConfig("MeshConfig", "istio-system", "istio", { proxyHttpPort: 15007 });
const dual = { INSTANCE_IPS: "10.0.0.1,fd00::1" };

function aDualMesh(): Core {
  const core = new Core({ features: { dualStack: true } });
  apply(core, mesh);
  return core;
}

test("a proxy of both families opens its loopback listeners at both addresses", () => {
  const listener = resourceOf(aDualMesh(), aSidecar("shop", dual), typeUrl.listener, "127.0.0.1_15007");
  assert.deepEqual(listener?.["additionalAddresses"], [
    { address: { socketAddress: { address: "::1", portValue: 15007 } } },
  ]);
  const single = resourceOf(aDualMesh(), aSidecar("shop"), typeUrl.listener, "127.0.0.1_15007");
  assert.equal(single?.["additionalAddresses"], undefined);
});

test("a headless service has listeners for all endpoints but the proxy's own first address", () => {
  const core = aDualMesh();
  const service = aService("db", "shop", { resolution: "passthrough", ports: [aPort("tcp", 5432, "TCP")] });
  apply(core, service);
  const value = ["10.0.0.1", "fd00::1", "10.0.0.2"].map((one) => anEndpoint(one, { servicePortName: "tcp" }));
  const key = { shard: "Kubernetes/Kubernetes", namespace: "shop", hostname: service.hostname };
  const change: Change = { type: "endpoints", op: "put", key, value };
  core.apply([change]);
  const names = namesOf(core, aSidecar("shop", dual), typeUrl.listener).filter((name) => name.endsWith("_5432"));
  assert.deepEqual(names.toSorted(), ["10.0.0.2_5432", "fd00::1_5432"]);
});

test("further addresses of a service may be called without its port", () => {
  const core = aDualMesh();
  const vips = { clusterVips: { Kubernetes: ["10.1.0.1", "fd00::9"] }, ports: [aPort("http", 8080, "HTTP")] };
  apply(core, aService("web", "shop", vips));
  const routes = JSON.stringify(resourceOf(core, aSidecar("shop", dual), typeUrl.route, "http_proxy"));
  assert.match(routes, /"10\.1\.0\.1:8080","\[fd00::9\]","\[fd00::9\]:8080"\]/);
});

test("allocated addresses of both families share a listener; a proxy of one has its own", () => {
  const core = aDualMesh();
  const allocated = { defaultAddress: "0.0.0.0", autoAllocatedIpv4: "240.240.0.9", autoAllocatedIpv6: "2001:2::9" };
  apply(core, aService("db", "shop", { ...allocated, registry: "External", ports: [aPort("tcp", 5432, "TCP")] }));
  const answers = { DNS_CAPTURE: "true" };
  const listener = resourceOf(core, aSidecar("shop", { ...dual, ...answers }), typeUrl.listener, "240.240.0.9_5432");
  assert.deepEqual(listener?.["additionalAddresses"], [
    { address: { socketAddress: { address: "2001:2::9", portValue: 5432 } } },
  ]);
  const six = namesOf(core, aSidecar("shop", { INSTANCE_IPS: "fd00::1", ...answers }), typeUrl.listener);
  assert.ok(six.includes("2001:2::9_5432"));
});

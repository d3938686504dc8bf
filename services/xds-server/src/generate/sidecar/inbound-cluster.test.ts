import assert from "node:assert/strict";
import { test } from "node:test";
import type { Change, Service } from "@flotilla/model";
import { typeUrl } from "@flotilla/proto";
import type { Core } from "../../app/core.ts";
import { aConfig, aMesh, anEndpoint, aPort, aService, aSidecar, resourceOf } from "../../testing/mesh.ts";

/** The hosts that the cluster of port 8080 names, behind which every service has the proxy as its endpoint. */
function hosts(...services: readonly Service[]): readonly string[] {
  return hostsIn(aMesh(...services), services);
}

function hostsIn(core: Core, services: readonly Service[]): readonly string[] {
  core.apply(
    services.map(({ namespace, hostname, registry, ports }): Change => {
      const value = [anEndpoint("10.0.0.1", { namespace, servicePortName: ports[0]?.name ?? "" })];
      return { type: "endpoints", op: "put", key: { shard: `${registry}/Kubernetes`, namespace, hostname }, value };
    }),
  );
  const cluster = resourceOf(core, aSidecar("shop"), typeUrl.cluster, "inbound|8080||");
  return [...JSON.stringify(cluster?.["metadata"] ?? {}).matchAll(/"host":"([^"]*)"/g)].map(([, host = ""]) => host);
}

const entry = (name: string, more: Partial<Service> = {}) =>
  aService(name, "shop", { registry: "External", hostname: name, ...more });

test("an inbound cluster names all services that share its workload port and its first service's port", () => {
  assert.deepEqual(hosts(aService("a", "shop"), entry("b.example.com")), ["a.shop.svc.cluster.local", "b.example.com"]);
  const other = entry("b.example.com", { ports: [aPort("http", 81, "HTTP")] });
  assert.deepEqual(hosts(aService("a", "shop"), other), ["a.shop.svc.cluster.local"]);
});

test("it names none when its first service is outside of the mesh", () => {
  assert.deepEqual(hosts(entry("b.example.com", { meshExternal: true })), []);
  assert.deepEqual(hosts(aService("a", "shop"), entry("b.example.com", { meshExternal: true })), [
    "a.shop.svc.cluster.local",
    "b.example.com",
  ]);
});

test("the cluster of a Sidecar's ingress listener names the first service of its port alone", () => {
  const services = [aService("a", "shop"), entry("b.example.com")];
  const port = { number: 8080, name: "http", protocol: "HTTP" };
  const ingress = [{ port, defaultEndpoint: "127.0.0.1:9000" }];
  const sidecar = aConfig("Sidecar", "shop", "s", { ingress, egress: [{ hosts: ["./*"] }] });
  assert.deepEqual(hostsIn(aMesh(...services, sidecar), services), ["a.shop.svc.cluster.local"]);
});

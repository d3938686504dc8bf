/** ENABLE_CLUSTER_IP_MATCHING: the address that is called chooses the service, not the host that a request names. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Service } from "@flotilla/model";
import { type JsonObject, typeUrl } from "@flotilla/proto";
import { Core } from "../../../app/core.ts";
import type { Features } from "../../../snapshot/features.ts";
import { aPort, apply, aService, aSidecar, resourceOf } from "../../../testing/mesh.ts";

const at = (name: string, address: string, more: Partial<Service> = {}): Service =>
  aService(name, "shop", { defaultAddress: address, clusterVips: { Kubernetes: [address] }, ...more });
const services = [
  at("v1", "10.96.0.1"),
  at("v2", "10.96.0.2"),
  at("headless", "0.0.0.0", { resolution: "passthrough", clusterVips: {} }),
  at("external", "10.96.0.9", { registry: "External", hostname: "external.example" }),
];

function mesh(features: Partial<Features>): Core {
  const core = new Core({ features });
  apply(core, ...services);
  return core;
}
const on = mesh({ clusterIpMatching: true });
const off = mesh({});
const listener = (core: Core, name: string) => resourceOf(core, aSidecar("shop"), typeUrl.listener, name);

describe("services by their ClusterIP", () => {
  it("have a listener with routes of their own, in which every host is theirs", () => {
    const text = JSON.stringify(listener(on, "10.96.0.2_80"));
    assert.match(text, /"routeConfigName":"v2\.shop\.svc\.cluster\.local:80"/);
    const route = resourceOf(on, aSidecar("shop"), typeUrl.route, "v2.shop.svc.cluster.local:80");
    const hosts = route?.["virtualHosts"] as readonly JsonObject[];
    assert.deepEqual(
      hosts.map(({ name, domains }) => [name, domains]),
      [["v2.shop.svc.cluster.local:80", ["*"]]],
    );
    assert.match(JSON.stringify(hosts), /"cluster":"outbound\|80\|\|v2\.shop\.svc\.cluster\.local"/);
  });

  it("are known by host at other addresses, as those without a ClusterIP are", () => {
    const shared = JSON.stringify(listener(on, "0.0.0.0_80"));
    assert.match(shared, /"routeConfigName":"80"/);
    const route = resourceOf(on, aSidecar("shop"), typeUrl.route, "80");
    const hosts = (route?.["virtualHosts"] ?? []) as readonly JsonObject[];
    const names = hosts.map(({ name }) => String(name));
    for (const name of ["v1.shop.svc.cluster.local:80", "external.example:80"]) assert.ok(names.includes(name), name);
    assert.equal(listener(on, "10.96.0.9_80"), undefined);
  });

  it("keep the listener of their port alone without the setting", () => {
    assert.equal(listener(off, "10.96.0.2_80"), undefined);
    assert.deepEqual(listener(off, "0.0.0.0_80"), listener(on, "0.0.0.0_80"));
  });

  it("of TCP are as without the setting", () => {
    const tcp = at("db", "10.96.0.5", { ports: [aPort("tcp", 5432, "TCP")] });
    const [withTcp, without] = [on, off].map((core) => {
      apply(core, tcp);
      return listener(core, "10.96.0.5_5432");
    });
    assert.ok(withTcp);
    assert.deepEqual(withTcp, without);
  });
});

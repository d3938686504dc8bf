/** The existing services, their visibility, and the names and addresses by which they are reached. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Change, Service } from "@flotilla/model";
import type { JsonObject } from "@flotilla/proto";
import { Core } from "../../app/core.ts";
import { aConfig, aMesh, aService, aSidecar, put } from "../../testing/mesh.ts";
import { parseFeatures } from "../features.ts";
import { query, type View } from "../view.ts";
import {
  aliasesOf,
  allocatedAddresses,
  completeNames,
  isServiceVisible,
  reachableAddresses,
  reachOf,
  routedAddresses,
  serviceIn,
  servicesExportedTo,
  targetService,
} from "./services.ts";

const host = "web.shop.svc.cluster.local";

/** The answer of `ask` in a mesh of these services, by shard where one is of another cluster. */
function asked<Answer>(
  services: readonly Service[],
  ask: (view: View) => Answer,
  { metadata = {}, env = {} }: { readonly metadata?: object; readonly env?: Readonly<Record<string, string>> } = {},
): Answer {
  const core = new Core({ features: parseFeatures(env) });
  const changes = put(...services).map((change, index): Change => {
    if (change.type !== "service") throw new TypeError("no service");
    return { ...change, key: { ...change.key, shard: `Kubernetes/c${index}` } };
  });
  assert.deepEqual(core.apply(changes), []);
  return core.read(query("test-question", ask), core.subjectOf(aSidecar("shop", { ...metadata })));
}

describe("how a namespace comes to see an object of namespace a", () => {
  for (const [exportTo, namespace, want] of [
    [[], "b", "everyone"],
    [["*"], "b", "everyone"],
    [["*", "."], "a", "everyone"],
    [["."], "a", "own"],
    [["a"], "a", "own"],
    [["."], "b", "hidden"],
    [["b"], "b", "named"],
    [["b"], "a", "hidden"],
    [["~"], "a", "hidden"],
    [["~", "b"], "b", "hidden"],
  ] as const)
    it(`[${exportTo.join()}] in ${namespace}: ${want}`, () => assert.equal(reachOf(exportTo, "a", namespace), want));
});

describe("services", () => {
  it("of the own namespace come first, then those exported to it, then those of all, each oldest first", () => {
    const services = [
      aService("all", "other", { creationTimeMs: 1 }),
      aService("late", "shop", { exportTo: ["."], creationTimeMs: 3 }),
      aService("named", "other", { exportTo: ["shop"], creationTimeMs: 2 }),
      aService("early", "shop", { exportTo: ["."], creationTimeMs: 1 }),
      aService("hidden", "other", { exportTo: ["."] }),
    ];
    const names = asked(services, (view) => view.read(servicesExportedTo, "shop").map(({ name }) => name));
    assert.deepEqual(names, ["early", "late", "named", "all"]);
    const seen = asked(services, (view) => services.map((service) => isServiceVisible(view, service, "shop")));
    assert.deepEqual(seen, [true, true, true, true, false]);
  });

  it("of ServiceEntries are visible as far as the mesh allows, where that holds for sidecars", () => {
    const entry = (name: string, exportTo: readonly string[]) =>
      aService(name, "other", { registry: "External", exportTo });
    const entries = [entry("all", []), entry("own", ["."]), entry("named", ["shop"]), aService("service", "other")];
    const seenIn = (namespace: string, serviceEntryVisibility: JsonObject) => {
      const mesh = aConfig("MeshConfig", "istio-system", "istio", { serviceEntryVisibility });
      const core = aMesh(...entries, mesh);
      const names = query("seen", (view) => view.read(servicesExportedTo, namespace).map(({ name }) => name));
      return core.read(names, core.subjectOf(aSidecar("shop")))?.join();
    };
    const limited = { defaultVisibility: "NAMESPACE", applyToSidecars: true };
    assert.equal(seenIn("shop", { defaultVisibility: "NAMESPACE" }), "named,all,service");
    assert.equal(seenIn("shop", limited), "service");
    assert.equal(seenIn("other", limited), "all,own,service");
    assert.equal(seenIn("other", { ...limited, defaultVisibility: "NONE" }), "service");
  });

  it("of several clusters are one, with the addresses and identities of all", () => {
    const of = (clusterId: string) =>
      aService("web", "shop", {
        clusterVips: { [clusterId]: [`10.0.0.${clusterId}`] },
        serviceAccounts: [clusterId, "b"],
      });
    const found = asked([of("1"), of("2")], (view) => serviceIn(view, "shop", host));
    assert.deepEqual(found?.clusterVips, { 1: ["10.0.0.1"], 2: ["10.0.0.2"] });
    assert.deepEqual(found?.serviceAccounts, ["1", "b", "2"]);
  });

  it("of Kubernetes come before older ServiceEntries of one host, of which the oldest counts", () => {
    const entry = (name: string, creationTimeMs: number) =>
      aService(name, "shop", { hostname: host, registry: "External", creationTimeMs });
    const nameIn = (view: View) => serviceIn(view, "shop", host)?.name;
    assert.equal(asked([entry("old", 1), aService("web", "shop", { creationTimeMs: 9 })], nameIn), "web");
    assert.equal(asked([entry("young", 2), entry("old", 1)], nameIn), "old");
    assert.equal(asked([], nameIn), undefined);
  });

  it("stand for a workload's port by its name, those of Kubernetes first", () => {
    const ports = (name: string) => [{ number: 80, name, protocol: "HTTP" as const }];
    const entry = aService("entry", "shop", { hostname: host, registry: "External", ports: ports("plain") });
    const service = aService("web", "shop", { ports: ports("http") });
    const nameOf = (portName: string) => (view: View) =>
      targetService(view, { namespace: "shop", hostname: host, port: 80, portName })?.name;
    assert.equal(asked([entry, service], nameOf("plain")), "entry");
    assert.equal(asked([entry, service], nameOf("http")), "web");
    assert.equal(asked([entry, service], nameOf("unknown")), "web");
  });

  it("have the names that lead to them, through one another; those in a circle lead nowhere", () => {
    const alias = (name: string, externalName: string) =>
      aService(name, "shop", {
        resolution: "alias",
        kubernetes: { externalName } as NonNullable<Service["kubernetes"]>,
      });
    const of = (name: string) => `${name}.shop.svc.cluster.local`;
    const services = [
      alias("b", of("a")),
      alias("a", host),
      aService("web", "shop"),
      alias("x", of("y")),
      alias("y", of("x")),
    ];
    assert.deepEqual(
      asked(services, (view) => [aliasesOf(view, host), aliasesOf(view, of("x")), aliasesOf(view, "unknown")]),
      [[of("a"), of("b")], [], []],
    );
  });
});

describe("addresses of a service", () => {
  const cases: readonly {
    readonly name: string;
    readonly service: Partial<Service>;
    readonly metadata?: object;
    readonly env?: Readonly<Record<string, string>>;
    readonly want: readonly string[];
  }[] = [
    {
      name: "those of the proxy's cluster first",
      service: { defaultAddress: "10.9.9.9", clusterVips: { Kubernetes: ["10.0.0.1"], far: ["10.0.0.2"] } },
      want: ["10.0.0.1"],
    },
    {
      name: "of a family that the proxy has",
      service: { clusterVips: { Kubernetes: ["fd00::1", "10.0.0.1"] } },
      want: ["10.0.0.1"],
    },
    {
      name: "both families where both are known of",
      service: { clusterVips: { Kubernetes: ["10.0.0.1", "fd00::1"] } },
      metadata: { INSTANCE_IPS: "10.0.0.1,fd00::9" },
      env: { ISTIO_DUAL_STACK: "true" },
      want: ["10.0.0.1", "fd00::1"],
    },
    {
      name: "that of another cluster where the own one has the other family alone",
      service: { defaultAddress: "10.9.9.9", clusterVips: { Kubernetes: ["fd00::1"], far: ["10.9.9.9"] } },
      want: ["10.9.9.9"],
    },
    {
      name: "none of another cluster in the other family",
      service: { defaultAddress: "fd00::2", clusterVips: { Kubernetes: ["fd00::1"], far: ["fd00::2"] } },
      want: [],
    },
    {
      name: "those of the first one's family where both are known of, but dual stack is not supported",
      service: { clusterVips: { Kubernetes: ["fd00::1", "10.0.0.1", "fd00::2"] } },
      metadata: { INSTANCE_IPS: "10.0.0.1,fd00::9" },
      want: ["fd00::1", "fd00::2"],
    },
    {
      name: "both families in the ambient mesh",
      service: { clusterVips: { Kubernetes: ["10.0.0.1", "fd00::1"] } },
      metadata: { INSTANCE_IPS: "10.0.0.1,fd00::9" },
      env: { PILOT_ENABLE_AMBIENT: "true" },
      want: ["10.0.0.1", "fd00::1"],
    },
    { name: "its own", service: { defaultAddress: "10.9.9.9" }, want: ["10.9.9.9"] },
    {
      name: "no ranges, nor the unspecified",
      service: { defaultAddress: "0.0.0.0", addresses: ["10.0.0.0/8"] },
      want: [],
    },
    {
      name: "none that are allocated, without DNS",
      service: { defaultAddress: "0.0.0.0", autoAllocatedIpv4: "240.240.0.1" },
      want: [],
    },
    {
      name: "allocated ones where the proxy answers DNS",
      service: { defaultAddress: "0.0.0.0", autoAllocatedIpv4: "240.240.0.1", autoAllocatedIpv6: "2001:2::1" },
      metadata: { DNS_CAPTURE: "true" },
      want: ["240.240.0.1"],
    },
    {
      name: "hashed ones where the proxy asks for them",
      service: { defaultAddress: "0.0.0.0", autoAllocatedIpv4: "240.240.0.1" },
      metadata: { DNS_CAPTURE: "true", DNS_AUTO_ALLOCATE: "true" },
      env: { PILOT_ENABLE_IP_AUTOALLOCATE: "false" },
      want: ["240.240.0.1"],
    },
  ];
  for (const { name, service, want, ...options } of cases)
    it(name, () => {
      const one = aService("web", "shop", { clusterVips: {}, ...service });
      assert.deepEqual(
        asked([], (view) => reachableAddresses(view, one), options),
        want,
      );
    });

  it("routes name one of several allocated ones, and all others", () => {
    const options = {
      metadata: { DNS_CAPTURE: "true", INSTANCE_IPS: "10.0.0.9,fd00::9" },
      env: { ISTIO_DUAL_STACK: "true" },
    };
    const routed = (service: Partial<Service>) =>
      asked([], (view) => routedAddresses(view, aService("web", "shop", { clusterVips: {}, ...service })), options);
    const [autoAllocatedIpv4, autoAllocatedIpv6] = ["240.240.0.1", "2001:2::1"];
    assert.deepEqual(routed({ defaultAddress: "0.0.0.0", autoAllocatedIpv4, autoAllocatedIpv6 }), ["240.240.0.1"]);
    assert.deepEqual(routed({ clusterVips: { Kubernetes: ["10.0.0.1", "fd00::1"] } }), ["10.0.0.1", "fd00::1"]);
  });

  it("hashed ones are for those who ask", () => {
    const one = aService("web", "shop", { autoAllocatedIpv4: "240.240.0.1" });
    const options = { metadata: { DNS_CAPTURE: "true" }, env: { PILOT_ENABLE_IP_AUTOALLOCATE: "false" } };
    assert.deepEqual(
      asked([], (view) => allocatedAddresses(view, one), options),
      [],
    );
  });
});

describe("short names in an object of namespace shop", () => {
  const names = asked([], (view) => completeNames(view, "shop"));
  for (const [host, want] of [
    ["web", "web.shop.svc.cluster.local"],
    ["web.other", "web.other"],
    ["*", "*"],
  ] as const)
    it(`the host ${host} is ${want}`, () => assert.equal(names.host(host), want));
  for (const [gateway, want] of [
    ["mesh", "mesh"],
    ["other/edge", "other/edge"],
    ["edge", "shop/edge"],
    ["edge.other.svc.cluster.local", "other/edge"],
  ] as const)
    it(`the gateway ${gateway} is ${want}`, () => assert.equal(names.gateway(gateway), want));
});

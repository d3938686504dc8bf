/** Workloads of other networks, and the gateways that ztunnels reach them by. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { type KubeObject, parseNode } from "@flotilla/model";
import { typeUrl } from "@flotilla/proto";
import { aKubeMesh, anObject, fieldAt, inShort } from "../../testing/kube-mesh.ts";
import { namesOf, resourceOf } from "../../testing/mesh.ts";

const ztunnel = parseNode({
  id: "ztunnel~10.0.9.1~ztunnel-1.istio-system~istio-system.svc.cluster.local",
  locality: { region: "", zone: "", subzone: "" },
  metadata: { NAMESPACE: "istio-system", CLUSTER_ID: "Kubernetes" },
});
const networkLabel = "topology.istio.io/network";
const system = anObject("Namespace", "/istio-system", { metadata: { labels: { [networkLabel]: "here" } } });

function aGateway(name: string, network: string, address: string, gatewayClassName = "istio-remote"): KubeObject {
  const namespaces = { from: "All" };
  const gateway = anObject("Gateway", `edge/${name}`, {
    metadata: { labels: { [networkLabel]: network } },
    spec: {
      gatewayClassName,
      listeners: [{ name: "tunnel", port: 15008, protocol: "HBONE", allowedRoutes: { namespaces } }],
    },
    status: { addresses: [{ type: "IPAddress", value: address }] },
  });
  return { ...gateway, apiVersion: "gateway.networking.k8s.io/v1" } as KubeObject;
}
const aMachine = (name: string, address: string, network: string) =>
  anObject("WorkloadEntry", `shop/${name}`, { address, network, serviceAccount: "vm" });

function anAmbientMesh(...objects: readonly KubeObject[]) {
  return aKubeMesh([system, ...objects], { env: { PILOT_ENABLE_AMBIENT: "true" } });
}
const gateways = (...objects: readonly KubeObject[]) =>
  namesOf(anAmbientMesh(...objects), ztunnel, typeUrl.address).filter((name) => name.startsWith("NetworkGateway/"));

describe("ztunnels know as workloads", () => {
  test("the gateways of other networks", () => {
    const [east, west] = [aGateway("east", "east", "192.0.2.1"), aGateway("west", "west", "192.0.2.2")];
    assert.deepEqual(gateways(east, west).toSorted(), [
      "NetworkGateway/east/192.0.2.1/15008",
      "NetworkGateway/west/192.0.2.2/15008",
    ]);
  });
  test("one of their own network", () =>
    assert.deepEqual(gateways(aGateway("own", "here", "192.0.2.1")), ["NetworkGateway/here/192.0.2.1/15008"]));
});

describe("a workload names the gateway", () => {
  const core = anAmbientMesh(
    aGateway("east", "east", "192.0.2.1"),
    ...[
      aMachine("near", "10.0.0.1", "here"),
      aMachine("far", "10.0.0.2", "east"),
      aMachine("lost", "10.0.0.3", "west"),
    ],
  );
  const gatewayOf = (name: string) => {
    const uid = `Kubernetes/networking.istio.io/WorkloadEntry/shop/${name}`;
    const address = resourceOf(core, ztunnel, typeUrl.address, uid);
    assert.notEqual(address, undefined, uid);
    return inShort(fieldAt(address, "workload.networkGateway.hboneMtlsPort"));
  };
  test("of its network", () => assert.equal(gatewayOf("far"), "15008"));
  test("not in the ztunnel's own network", () => assert.equal(gatewayOf("near"), "none"));
  test("not of a network without one", () => assert.equal(gatewayOf("lost"), "none"));
});

describe("with gateways between networks", () => {
  const labels = { "istio.io/global": "true" };
  const service = anObject("Service", "shop/web", {
    metadata: { labels },
    spec: { clusterIP: "10.96.0.1", ports: [{ name: "http", port: 80 }], selector: { app: "web" } },
  });
  const machine = (name: string, address: string, network: string) =>
    anObject("WorkloadEntry", `shop/${name}`, { address, network, labels: { app: "web" }, serviceAccount: name });
  const core = aKubeMesh(
    [
      ...[system, anObject("Namespace", "/shop", {}), service, aGateway("east", "east", "192.0.2.1")],
      ...[machine("near", "10.0.0.1", "here"), machine("far", "10.0.0.2", "east"), machine("lost", "10.0.0.3", "west")],
    ],
    {
      env: { PILOT_ENABLE_AMBIENT: "true", AMBIENT_ENABLE_MULTI_NETWORK: "true" },
      mesh: { serviceScopeConfigs: [{ scope: "GLOBAL", servicesSelector: { matchLabels: labels } }] },
    },
  );
  const host = "shop/web.shop.svc.cluster.local";
  const standIn = `east/SplitHorizonWorkload/edge/east/192.0.2.1/${host}`;
  test("one workload stands for those of a global service in a network that can be reached", () => {
    const workloads = namesOf(core, ztunnel, typeUrl.address).filter((name) => name.split("/").length > 2);
    assert.deepEqual(workloads.toSorted(), [
      "Kubernetes/networking.istio.io/WorkloadEntry/shop/near",
      "NetworkGateway/east/192.0.2.1/15008",
      standIn,
    ]);
  });
  test("the service has the identities of all of them", () => {
    const names = fieldAt(resourceOf(core, ztunnel, typeUrl.address, host), "service.subjectAltNames");
    assert.deepEqual(names, ["spiffe://cluster.local/ns/shop/sa/far", "spiffe://cluster.local/ns/shop/sa/lost"]);
  });
});

/** Source: istiod asked. A waypoint's address lies in the network of the control plane, whatever label the Gateway has. */
describe("a service that names as its waypoint", () => {
  const bound = (name: string, waypoint: string) =>
    anObject("Service", `shop/${name}`, {
      metadata: { labels: { "istio.io/use-waypoint": waypoint, "istio.io/use-waypoint-namespace": "edge" } },
      spec: { clusterIP: "10.96.0.1", ports: [{ name: "http", port: 80 }] },
    });
  const core = anAmbientMesh(
    ...[aGateway("far", "east", "10.0.0.9", "istio-waypoint"), aGateway("east", "east", "172.16.2.2")],
    ...[bound("a", "far"), bound("b", "east"), bound("c", "elsewhere"), anObject("Namespace", "/shop", {})],
  );
  const serviceOf = (name: string, field: string) =>
    fieldAt(resourceOf(core, ztunnel, typeUrl.address, `shop/${name}.shop.svc.cluster.local`), `service.${field}`);
  const here = (address: string) => ({
    address: { network: "here", address: Buffer.from(address.split(".").map(Number)).toString("base64") },
    hboneMtlsPort: 15008,
  });
  const cases = [
    { name: "one that is labelled with another network", service: "a", expected: here("10.0.0.9") },
    { name: "the gateway of another network", service: "b", expected: here("172.16.2.2") },
    { name: "one that only another cluster has", service: "c", expected: undefined },
  ];
  for (const { name, service, expected } of cases)
    test(name, () => {
      assert.deepEqual(serviceOf(service, "waypoint"), expected);
      assert.deepEqual(serviceOf(service, "addresses"), [here("10.96.0.1").address]);
    });
  test("the gateway stays the way into its network", () =>
    assert.deepEqual(
      namesOf(core, ztunnel, typeUrl.address).filter((name) => name.startsWith("NetworkGateway/")),
      ["NetworkGateway/east/172.16.2.2/15008"],
    ));
});

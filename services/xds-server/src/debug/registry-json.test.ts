/** Services and endpoints in the fields that tools read from istiod's registry pages. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Service } from "@flotilla/model";
import { fieldAt, inShort } from "../testing/kube-mesh.ts";
import { anEndpoint, aPort, aService } from "../testing/mesh.ts";
import { endpointJson, portJson, serviceJson } from "./registry-json.ts";

const plain = aService("a", "shop");
const external = aService("entry", "shop", { registry: "External", hostname: "a.example", meshExternal: true });

const services: readonly (readonly [name: string, service: Service, path: string, want: string])[] = [
  ["a Kubernetes service has its name", plain, "Attributes.Name", "a"],
  ["one of a ServiceEntry has its host", external, "Attributes.Name", "a.example"],
  ["… and its object's name apart", external, "Attributes.ObjectName", "entry"],
  ["the object's name of a Kubernetes service is empty", plain, "Attributes.ObjectName", ""],
  ["no labels are null", plain, "Attributes.Labels", "null"],
  ["labels are copied", aService("a", "shop", { labels: { app: "a" } }), "Attributes.Labels", "{app: a}"],
  ["exported to all is null", plain, "Attributes.ExportTo", "null"],
  ["exportTo is a set", aService("a", "shop", { exportTo: [".", "bank"] }), "Attributes.ExportTo", "{.: {}, bank: {}}"],
  ["no selector is null", plain, "Attributes.LabelSelectors", "null"],
  ["no addresses are null", plain, "clusterVIPs.Addresses", "null"],
  [
    "addresses by cluster",
    aService("a", "shop", { clusterVips: { one: ["10.0.0.1"], two: [] } }),
    "clusterVIPs.Addresses",
    "{one: [10.0.0.1], two: []}",
  ],
  [
    "zones are preferred",
    aService("a", "shop", { trafficDistribution: "PreferSameZone" }),
    "Attributes.TrafficDistribution",
    "1",
  ],
  [
    "nodes are preferred",
    aService("a", "shop", { trafficDistribution: "PreferSameNode" }),
    "Attributes.TrafficDistribution",
    "2",
  ],
  ["nothing is preferred", plain, "Attributes.TrafficDistribution", "0"],
  ["unstated accounts are left out", plain, "serviceAccounts", "none"],
  ["accounts", aService("a", "shop", { serviceAccounts: ["x"] }), "serviceAccounts", "[x]"],
  [
    "an automatic address",
    aService("a", "shop", { autoAllocatedIpv6: "2001:2::1" }),
    "autoAllocatedIPv6Address",
    "2001:2::1",
  ],
  ["no ports of node addresses are null", plain, "Attributes.ClusterExternalPorts", "null"],
  [
    "ports of node addresses by cluster",
    aService("a", "shop", { clusterExternalPorts: { one: { 80: 30080 } } }),
    "Attributes.ClusterExternalPorts",
    "{one: {80: 30080}}",
  ],
  ["no target ports are null", plain, "Attributes.PassthroughTargetPorts", "null"],
  [
    "target ports of a service that passes through",
    aService("a", "shop", { passthroughTargetPorts: { 80: 8080 } }),
    "Attributes.PassthroughTargetPorts",
    "{80: 8080}",
  ],
  [
    "addresses from outside by cluster",
    aService("a", "shop", { clusterExternalAddresses: { one: ["lb.example"] } }),
    "Attributes.ClusterExternalAddresses.Addresses",
    "{one: [lb.example]}",
  ],
  ["no automatic address is left out", plain, "autoAllocatedIPv4Address", "none"],
  ["outside of the mesh", external, "MeshExternal", "true"],
  [
    "the time of creation",
    aService("a", "shop", { creationTimeMs: 1_000 }),
    "creationTime",
    "1970-01-01T00:00:01.000Z",
  ],
];

describe("a service", () => {
  for (const [name, service, path, want] of services)
    it(name, () => assert.equal(inShort(fieldAt(serviceJson(service), path)), want));

  it("resolutions have istiod's numbers", () => {
    const numbers = (["client-side", "dns", "passthrough", "dns-round-robin", "alias", "dynamic-dns"] as const).map(
      (resolution) => serviceJson(aService("a", "shop", { resolution }))["Resolution"],
    );
    assert.deepEqual(numbers, [0, 1, 2, 3, 4, 5]);
  });

  it("ports: a name where there is one, unknown protocols by istiod's word", () => {
    assert.deepEqual(portJson(aPort("http", 80, "HTTP")), { name: "http", port: 80, protocol: "HTTP" });
    assert.deepEqual(portJson(aPort("", 90, "odd")), { port: 90, protocol: "UnsupportedProtocol" });
  });
});

describe("an endpoint", () => {
  it("has the fields of istiod, empty where nothing is known", () => {
    const json = endpointJson(anEndpoint("10.0.0.1", { labels: { app: "a" }, locality: "r/z" }));
    assert.deepEqual(json["Locality"], { Label: "r/z", ClusterID: "Kubernetes" });
    assert.deepEqual([json["Labels"], json["Addresses"]], [{ app: "a" }, ["10.0.0.1"]]);
    assert.deepEqual(
      ["LegacyClusterPortKey", "HostName", "SubDomain", "SendUnhealthyEndpoints", "NodeName", "DefinedBy"].map(
        (field) => json[field],
      ),
      [0, "", "", false, "", ""],
    );
  });

  it("healths have istiod's numbers", () => {
    const numbers = (["unknown", "healthy", "unhealthy", "draining", "terminating"] as const).map(
      (health) => endpointJson(anEndpoint("10.0.0.1", { health }))["HealthStatus"],
    );
    assert.deepEqual(numbers, [0, 1, 2, 3, 4]);
  });
});

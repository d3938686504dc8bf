/** Services that are visible to other networks, and the workloads that represent them there. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { ServiceFacts, WorkloadFacts } from "./facts.ts";
import { farWorkloads, isGlobalService, splitHorizonWorkload } from "./split-horizon.ts";

const labelled = { matchLabels: { "istio.io/global": "true" } };
const rule = { isGlobal: true, namespaces: undefined, services: labelled };

const scopes = [
  { name: "its label", rules: [rule], labels: labelled.matchLabels, namespace: {}, want: true },
  { name: "no rule", rules: [], labels: labelled.matchLabels, namespace: {}, want: false },
  { name: "another label", rules: [rule], labels: { "istio.io/global": "false" }, namespace: {}, want: false },
  { name: "a rule that keeps local", rules: [{ ...rule, isGlobal: false }], labels: labelled.matchLabels, want: false },
  {
    name: "a label of its namespace",
    rules: [{ isGlobal: true, namespaces: labelled, services: undefined }],
    labels: {},
    namespace: labelled.matchLabels,
    want: true,
  },
  {
    name: "a namespace that is not there",
    rules: [rule],
    labels: labelled.matchLabels,
    namespace: undefined,
    want: false,
  },
] as const;

describe("a service is known in other networks by", () => {
  for (const { name, rules, labels, want, ...home } of scopes)
    it(`${name}: ${want}`, () =>
      assert.equal(isGlobalService(rules, labels, "namespace" in home ? home.namespace : {}), want));
});

const membership = { namespace: "shop", hostname: "web", ports: [] };
const workload = (network: string, serviceAccount: string, capacity?: number): WorkloadFacts => ({
  ...{ uid: "u", name: "n", namespace: "shop", addresses: [], hostname: "", network, tunnel: "hbone", trustDomain: "" },
  ...{ serviceAccount, canonicalName: "", canonicalRevision: "", workloadName: "", isPod: true, node: "" },
  ...{ clusterId: "c", isHealthy: true, hostNetwork: false, services: [membership], policies: [] },
  ...(capacity === undefined ? {} : { capacity }),
});

describe("workloads of other networks", () => {
  const found = farWorkloads([workload("n2", "b", 3), workload("n2", "a"), workload("n3", "a")], "mesh.example");
  it("are one a service and network, with their capacities and identities", () =>
    assert.deepEqual(found.get("shop/web"), [
      {
        network: "n2",
        capacity: 4,
        identities: ["spiffe://mesh.example/ns/shop/sa/a", "spiffe://mesh.example/ns/shop/sa/b"],
      },
      { network: "n3", capacity: 1, identities: ["spiffe://mesh.example/ns/shop/sa/a"] },
    ]));
  it("are called through the gateway, at the ports of the service", () => {
    const service: ServiceFacts = {
      ...{ kind: "Service", name: "web", namespace: "shop", hostname: "web", addresses: [], subjectAltNames: [] },
      ports: [{ number: 80, name: "http", protocol: "HTTP", target: 8080 }],
      ...{ ipFamilies: [], namespaceOnly: false, isCanonical: true, ingressUsesWaypoint: false },
    };
    const gateway = {
      ...{ network: "n2", namespace: "edge", name: "east", serviceAccount: "e", port: 15008 },
      destination: { namespace: "edge", hostname: "east.example" },
    };
    const far = { network: "n2", capacity: 4, identities: [] };
    const stand = splitHorizonWorkload(service, far, gateway, { trustDomain: "", clusterId: "here" });
    assert.equal(stand.uid, "n2/SplitHorizonWorkload/edge/east/east.example/shop/web");
    assert.deepEqual([stand.capacity, stand.tunnel, stand.addresses, stand.clusterId], [4, "hbone", [], "here"]);
    assert.deepEqual(stand.networkGateway, { destination: gateway.destination, port: 15008 });
    assert.deepEqual(stand.services, [
      { namespace: "shop", hostname: "web", ports: [{ servicePort: 80, targetPort: 8080, protocol: "HTTP" }] },
    ]);
  });
});

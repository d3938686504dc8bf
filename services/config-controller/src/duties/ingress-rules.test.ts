import assert from "node:assert/strict";
import { test } from "node:test";
import type { Ingress, Node, Pod, Service } from "@flotilla/kube-api";
import { addressesOf, isPublishedAlready, isServed, nodeAddressesOf } from "./ingress-rules.ts";

const classes = new Map([
  ["mesh", { metadata: { name: "mesh" }, spec: { controller: "istio.io/ingress-controller" } }],
  ["nginx", { metadata: { name: "nginx" }, spec: { controller: "k8s.io/ingress-nginx" } }],
]);
const cases = [
  { annotation: "istio", mode: "STRICT", served: true },
  { annotation: "istio", mode: "OFF", served: false },
  { annotation: "nginx", mode: "STRICT", served: false },
  { annotation: "nginx", mode: "DEFAULT", served: false },
  { annotation: "", mode: "DEFAULT", served: true },
  { annotation: "", mode: "STRICT", served: false },
  { className: "mesh", mode: "STRICT", served: true },
  { className: "nginx", mode: "DEFAULT", served: false },
  { annotation: "nginx", className: "mesh", mode: "STRICT", served: false },
  { mode: "STRICT", served: false },
  { mode: "DEFAULT", served: true },
  { className: "unknown", mode: "STRICT", served: false },
];
for (const { annotation, className, mode, served } of cases)
  test(`annotation ${annotation}, class ${className}, mode ${mode}: ${served ? "" : "not "}served`, () => {
    const annotations = annotation === undefined ? {} : { "kubernetes.io/ingress.class": annotation };
    const ingress = {
      metadata: { annotations },
      spec: className === undefined ? {} : { ingressClassName: className },
    };
    assert.equal(isServed(ingress, classes, { ingressControllerMode: mode, ingressClass: "istio" }), served);
  });

const addresses: readonly { readonly service: Omit<Service, "metadata">; readonly reported: unknown }[] = [
  {
    service: {
      status: { loadBalancer: { ingress: [{ hostname: "b.example.com" }, { ip: "10.0.0.2" }, { ip: "10.0.0.1" }] } },
    },
    reported: [{ hostname: "b.example.com" }, { ip: "10.0.0.1" }, { ip: "10.0.0.2" }],
  },
  { service: { spec: { externalIPs: ["10.0.0.1", "10.0.0.1"] } }, reported: [{ ip: "10.0.0.1" }] },
  {
    service: { spec: { type: "ExternalName", externalName: "gw.example.com" } },
    reported: [{ hostname: "gw.example.com" }],
  },
  { service: {}, reported: [] },
  { service: { status: { loadBalancer: { ingress: [{ ip: "", hostname: "" }] } } }, reported: [] },
  { service: { spec: { type: "ExternalName" } }, reported: [] },
  {
    service: { spec: { type: "ExternalName", externalName: "a", externalIPs: ["10.0.0.1"] } },
    reported: [{ hostname: "a" }],
  },
  {
    service: {
      spec: { externalIPs: ["10.0.0.3"] },
      status: { loadBalancer: { ingress: [{ ip: "10.0.0.1", hostname: "a" }] } },
    },
    reported: [{ ip: "10.0.0.1" }, { ip: "10.0.0.3" }],
  },
];
for (const { service, reported } of addresses)
  test(`addresses of ${JSON.stringify(service)}`, () => {
    assert.deepEqual(addressesOf({ metadata: {}, ...service }), reported);
  });

const pod = (istio: string, nodeName: string, phase: string): Pod => ({
  metadata: { name: `${istio}-${nodeName}`, labels: { istio } },
  spec: { nodeName, containers: [] },
  status: { phase },
});
const node = (name: string, ...addresses: readonly string[]): readonly [string, Node] => [
  name,
  { metadata: { name }, status: { addresses: addresses.map((address) => ({ type: "ExternalIP", address })) } },
];
const nodes = new Map([
  node("a", "192.0.2.2", "192.0.2.1"),
  node("b", "192.0.2.3"),
  ["c", { metadata: { name: "c" }, status: { addresses: [{ type: "InternalIP", address: "10.0.0.3" }] } }],
]);
const placed: readonly { readonly name: string; readonly pods: readonly Pod[]; readonly ips: readonly string[] }[] = [
  { name: "all external ones of the node", pods: [pod("edge", "a", "Running")], ips: ["192.0.2.1", "192.0.2.2"] },
  {
    name: "those of each node once",
    pods: [pod("edge", "b", "Running"), pod("edge", "b", "Running")],
    ips: ["192.0.2.3"],
  },
  { name: "none where the pod does not run", pods: [pod("edge", "a", "Pending")], ips: [] },
  { name: "none of pods of another gateway", pods: [pod("other", "a", "Running")], ips: [] },
  { name: "none of internal ones or unknown nodes", pods: ["c", "d"].map((at) => pod("edge", at, "Running")), ips: [] },
];
for (const { name, pods, ips } of placed)
  test(`addresses of a gateway's nodes: ${name}`, () => {
    assert.deepEqual(
      nodeAddressesOf(pods, nodes, "edge"),
      ips.map((ip) => ({ ip })),
    );
  });

const published = [
  { name: "the same", ingress: [{ hostname: "a" }, { ip: "10.0.0.1", ports: [] }], isPublished: true },
  { name: "fewer", ingress: [{ hostname: "a" }], isPublished: false },
  { name: "others", ingress: [{ hostname: "b" }, { ip: "10.0.0.1" }], isPublished: false },
  { name: "none", ingress: undefined, isPublished: false },
];
for (const { name, ingress, isPublished } of published)
  test(`addresses are ${isPublished ? "" : "not "}published where an Ingress has ${name}`, () => {
    const status = { loadBalancer: { ingress } } as Ingress["status"] & object;
    const wanted = [{ hostname: "a" }, { ip: "10.0.0.1" }];
    assert.equal(isPublishedAlready({ metadata: {}, status }, wanted), isPublished);
    assert.equal(isPublishedAlready({ metadata: {} }, []), true);
  });

import assert from "node:assert/strict";
import { test } from "node:test";
import type { Service } from "@flotilla/kube-api";
import { addressesOf, isServed } from "./ingress-rules.ts";

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
];
for (const { service, reported } of addresses)
  test(`addresses of ${JSON.stringify(service)}`, () => {
    assert.deepEqual(addressesOf({ metadata: {}, ...service }), reported);
  });

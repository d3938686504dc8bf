/** Endpoints of the waypoints that gateways call in place of a service's own. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { JsonObject, KubeObject, Labels } from "@flotilla/model";
import { typeUrl } from "@flotilla/proto";
import { aKubeMesh, anObject } from "../../testing/kube-mesh.ts";
import { aRouter, resourceOf } from "../../testing/mesh.ts";

const router = aRouter("edge", { istio: "ingressgateway" });

function aService(name: string, address: string, port: JsonObject, labels: Labels = {}, annotations: Labels = {}) {
  return anObject("Service", `shop/${name}`, {
    metadata: { labels, annotations },
    spec: { clusterIP: address, ports: [port], selector: { app: name } },
  });
}

function aSlice(name: string, port: JsonObject, ...addresses: readonly string[]): KubeObject {
  const slice = anObject("EndpointSlice", `shop/${name}`, {
    metadata: { labels: { "kubernetes.io/service-name": name } },
  });
  const endpoints = addresses.map((address) => ({ addresses: [address], conditions: { ready: true } }));
  return { ...slice, apiVersion: "discovery.k8s.io/v1", addressType: "IPv4", endpoints, ports: [port] } as KubeObject;
}

function aGateway(name: string, address: JsonObject): KubeObject {
  const gateway = anObject("Gateway", `shop/${name}`, {
    spec: { gatewayClassName: "istio-waypoint", listeners: [{ name: "mesh", port: 15008, protocol: "HBONE" }] },
    status: { addresses: [address] },
  });
  return { ...gateway, apiVersion: "gateway.networking.k8s.io/v1" } as KubeObject;
}

const host = (name: string) => ({ type: "Hostname", value: `${name}.shop.svc.cluster.local` });
const mesh: readonly KubeObject[] = [
  aGateway("one", host("one")),
  aGateway("two", { type: "IPAddress", value: "10.96.0.2" }),
  aGateway("gone", host("gone")),
  aGateway("stray", { type: "IPAddress", value: "10.96.9.9" }),
  aService("one", "10.96.0.1", { name: "mesh", port: 15008 }),
  aSlice("one", { name: "mesh", port: 15008 }, "10.1.0.1", "10.1.0.2", "10.1.0.3"),
  aService("two", "10.96.0.2", { name: "hbone", port: 15008 }),
  aSlice("two", { name: "hbone", port: 15008 }, "10.2.0.1", "10.2.0.2"),
  aSlice("web", { name: "http", port: 8080 }, "10.9.0.1"),
];

const use = (waypoint: string, second?: string): Labels => ({
  "istio.io/ingress-use-waypoint": "true",
  "istio.io/use-waypoint": waypoint,
  ...(second === undefined ? {} : { "istio.io/use-waypoint-canary": second }),
});
const share = (weight: string): Labels => ({ "istio.io/use-waypoint-canary-weight": weight });

interface Load {
  readonly endpoints?: readonly {
    readonly lbEndpoints: readonly {
      readonly loadBalancingWeight: number;
      readonly endpoint: { readonly address: { readonly envoyInternalAddress?: { readonly endpointId: string } } };
    }[];
  }[];
}

/** `ADDRESS WEIGHT` of each tunnel; `direct` of endpoints that are called without one. */
function called(labels: Labels, annotations: Labels = {}): readonly string[] {
  const web = aService("web", "10.96.1.1", { name: "http", port: 80 }, labels, annotations);
  const core = aKubeMesh([...mesh, web], { env: { PILOT_ENABLE_AMBIENT: "true" } });
  const name = "outbound|80||web.shop.svc.cluster.local";
  const { endpoints = [] } = (resourceOf(core, router, typeUrl.endpoint, name) ?? {}) as Load;
  return endpoints.flatMap(({ lbEndpoints }) =>
    lbEndpoints.map(({ endpoint: { address }, loadBalancingWeight }) => {
      const tunnel = address.envoyInternalAddress?.endpointId;
      return tunnel === undefined ? "direct" : `${tunnel.split(":")[0]} ${loadBalancingWeight}`;
    }),
  );
}

const one = (weight: number) => ["10.1.0.1", "10.1.0.2", "10.1.0.3"].map((address) => `${address} ${weight}`);
const two = (weight: number) => ["10.2.0.1", "10.2.0.2"].map((address) => `${address} ${weight}`);

const cases: readonly (readonly [string, Labels, Labels, readonly string[]])[] = [
  ["those of the waypoint's service by its host name", use("one"), {}, one(1)],
  ["those of the service that has the waypoint's address", use("two"), {}, two(1)],
  ["those of both waypoints, by their shares", use("one", "two"), share("30"), [...one(233_333), ...two(150_000)]],
  ["those of the first alone where the second has no share", use("one", "two"), share("0"), one(333_333)],
  ["those of the second alone where it has all", use("one", "two"), share("100"), two(500_000)],
  ["those of the first with its share where the second has no service", use("one", "gone"), share("40"), one(200_000)],
  ["none where the waypoint has no service of its name", use("gone"), {}, []],
  ["its own where no service has the waypoint's address", use("stray"), {}, ["direct"]],
  ["its own where it does not ask for the waypoint", { "istio.io/use-waypoint": "one" }, {}, ["direct"]],
];

describe("gateways call a service by endpoints:", () => {
  for (const [text, labels, annotations, endpoints] of cases)
    it(text, () => assert.deepEqual(called(labels, annotations), endpoints));
});

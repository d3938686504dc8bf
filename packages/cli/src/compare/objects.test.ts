import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { JsonObject } from "@flotilla/proto";
import { behindFields, behindResource } from "./objects.ts";

const service = (hostname: string): JsonObject => ({ service: { name: "api", namespace: "amb", hostname } });
const route = (name: string, virtualService: string): JsonObject => ({
  name,
  metadata: {
    filterMetadata: {
      istio: { config: `/apis/networking.istio.io/v1/namespaces/amb/virtual-service/${virtualService}` },
    },
  },
});

describe("the object behind a resource", () => {
  const cases: readonly {
    readonly name: string;
    readonly type: string;
    readonly of: string;
    readonly resource?: JsonObject;
    readonly madeFrom?: readonly string[];
    readonly object: string | undefined;
  }[] = [
    { name: "is the pod of a workload", type: "wds", of: "c1//Pod/amb/api-1", object: "Pod/api-1.amb" },
    {
      name: "is the WorkloadEntry of a workload",
      ...{ type: "wds", of: "c1/networking.istio.io/WorkloadEntry/amb/vm", object: "WorkloadEntry/vm.amb" },
    },
    {
      name: "is the ServiceEntry of a workload, whichever address it has",
      ...{ type: "wds", of: "c1/networking.istio.io/ServiceEntry/amb/x/10.0.0.1", object: "ServiceEntry/x.amb" },
    },
    {
      name: "is the Gateway before the workloads of another network",
      ...{ type: "wds", of: "net2/SplitHorizonWorkload/istio-system/ew/1.2.3.4/amb/api.amb.svc.cluster.local" },
      object: "Gateway/ew.istio-system",
    },
    {
      name: "is unknown for the address of a network's gateway",
      ...{ type: "wds", of: "NetworkGateway/net2/1.2.3.4/15008", object: undefined },
    },
    {
      name: "is the Service of a host of Kubernetes",
      ...{ type: "wds", of: "amb/api.amb.svc.cluster.local", resource: service("api.amb.svc.cluster.local") },
      object: "Service/api.amb",
    },
    {
      name: "is the ServiceEntry of another host",
      ...{ type: "wds", of: "amb/api.example", resource: service("api.example"), object: "ServiceEntry/api.amb" },
    },
    {
      name: "is the object that a service was made from, where that is known",
      ...{ type: "wds", of: "amb/api.amb.svc.cluster.local", resource: service("api.amb.svc.cluster.local") },
      madeFrom: ["Namespace//amb", "ServiceEntry/amb/other", "KubernetesGateway/amb/waypoint"],
      object: "ServiceEntry/other.amb",
    },
    { name: "is the policy of ztunnel", type: "wads", of: "amb/callers", object: "AuthorizationPolicy/callers.amb" },
    {
      name: "is the PeerAuthentication that a policy is converted from",
      ...{ type: "wads", of: "amb/converted_peer_authentication_port", object: "PeerAuthentication/port.amb" },
    },
    {
      name: "is the waypoint that a policy leads callers through",
      ...{ type: "wads", of: "amb/istio_allow_waypoint_amb_way", object: "Gateway/way.amb" },
    },
    {
      name: "is unknown for the policy of the whole mesh",
      ...{ type: "wads", of: "istio-system/istio_converted_static_strict", object: undefined },
    },
    {
      name: "is the host of a waypoint's cluster",
      ...{ type: "cds", of: "inbound-vip|80|http|api.amb.svc.cluster.local" },
      object: "host api.amb.svc.cluster.local",
    },
  ];
  for (const { name, type, of, resource = {}, madeFrom = [], object } of cases)
    it(name, () => assert.equal(behindResource({ type, name: of }, resource, madeFrom), object));
});

describe("the object behind a route", () => {
  const generated = "amb~80~api.amb.svc.cluster.local";
  const cases: readonly {
    readonly name: string;
    readonly of: JsonObject;
    readonly madeFrom: readonly string[];
    readonly object: string;
  }[] = [
    {
      name: "is the route of the Gateway API that it was made from",
      ...{ of: route("amb.r.x.0", generated), madeFrom: ["GRPCRoute/amb/r.x"], object: "GRPCRoute/r.x.amb" },
    },
    {
      name: "is one of two kinds where only its name is known",
      ...{ of: route("amb.r.0", generated), madeFrom: [], object: "HTTPRoute or GRPCRoute r.amb" },
    },
    {
      name: "is the VirtualService, whatever its route is called",
      ...{ of: route("amb.r.0", "reviews"), madeFrom: ["HTTPRoute/amb/r"], object: "VirtualService/reviews.amb" },
    },
  ];
  for (const { name, of, madeFrom, object } of cases)
    it(name, () => {
      const listener = { virtualHosts: [{ routes: [{ ...of, route: { timeout: "1s" } }] }] };
      const fields = [{ path: "virtualHosts[0].routes[0].route.timeout", istiod: "1s", flotilla: "2s" }];
      assert.equal(behindFields(fields, [listener, listener], madeFrom), object);
    });
});

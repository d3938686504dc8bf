/** Pages about what follows from the mesh: what proxies may call, which services they are, networks, conflicts. */
import type { Finding } from "@flotilla/incremental";
import { type Change, isIpAddress, type NetworkGateway, type Proxy, parseNode } from "@flotilla/model";
import { type JsonObject, toJson } from "@flotilla/proto";
import { SidecarSchema } from "@flotilla/proto/networking/v1alpha3/sidecar_pb";
import type { Core } from "../app/core.ts";
import { networkGateways } from "../snapshot/scope/network-gateways.ts";
import { sidecarOf } from "../snapshot/scope/sidecar.ts";
import { visibleServices } from "../snapshot/scope/sidecar-scope.ts";
import { query } from "../snapshot/view.ts";
import { byMetric } from "./findings.ts";
import { policiesByNamespace } from "./mesh-pages.ts";
import type { DebugPage } from "./page.ts";
import { aboutProxy, type ProxyPageSources } from "./proxy-pages.ts";
import { serviceJson } from "./registry-json.ts";

const servicesInScope = query("debug-services-in-scope", visibleServices);

/** For what does not depend on any proxy. */
const anonymousSidecar: Proxy = parseNode({
  id: "sidecar~0.0.0.0~nobody.nowhere~nowhere.svc.cluster.local",
  metadata: {},
});

export interface SnapshotPageSources extends Omit<ProxyPageSources, "disconnect"> {
  /** Objects that select no known workload. */
  readonly unselected: () => readonly Finding[];
  /** The changes in force now, each key once. */
  readonly inputs: () => Iterable<Change>;
}

export function snapshotPages(sources: SnapshotPageSources): readonly DebugPage[] {
  const { core, unselected, inputs } = sources;
  const gateways = () => [...core.read(networkGateways, core.subjectOf(anonymousSidecar)).values()].flat();
  return [
    {
      path: "sidecarz",
      help: "the Sidecar of a proxy and the services that it may call",
      scope: "namespace",
      answer: (question) => aboutProxy(sources, question, ({ proxy }) => ({ json: sidecarScope(core, proxy) })),
    },
    {
      path: "networkz",
      help: "the gateways of networks",
      scope: "mesh",
      answer: () => ({ json: gateways().map(gatewayJson) }),
    },
    {
      path: "pushcontext",
      help: "AuthorizationPolicies and the gateways of networks; gateways with a host name are listed apart",
      scope: "mesh",
      answer: ({ viewer }) => {
        const policies = policiesByNamespace(inputs(), "AuthorizationPolicy", viewer);
        const [named, addressed] = [false, true].map((isAddress) =>
          gateways().filter(({ address }) => isIpAddress(address) === isAddress),
        );
        return {
          json: {
            AuthorizationPolicies: { namespace_to_policies: policies, root_namespace: core.mesh.rootNamespace },
            NetworkGateways: (addressed ?? []).map(gatewayJson),
            UnresolvedGateways: (named ?? []).map(gatewayJson),
          },
        };
      },
    },
    {
      path: "push_status",
      help: "conflicts and errors in the resources of connected proxies, by metric and object",
      scope: "mesh",
      answer: () => ({ json: byMetric([...core.findings(), ...unselected()]) }),
    },
    {
      path: "cachez",
      help: "how many results are kept and shared, and how many were computed",
      scope: "mesh",
      answer: () => ({ json: core.stats() }),
    },
  ];
}

function gatewayJson({ network, clusterId, address, port }: NetworkGateway): JsonObject {
  return { Network: network, Cluster: clusterId, Addr: address, Port: port };
}

function sidecarScope(core: Core, proxy: Proxy): JsonObject {
  const subject = core.subjectOf(proxy);
  const sidecar = core.read(sidecarOf, subject);
  return {
    name: sidecar?.key.name ?? "default",
    namespace: sidecar?.key.namespace ?? proxy.namespace,
    ...(sidecar && { sidecar: toJson(SidecarSchema, sidecar.spec) }),
    services: core.read(servicesInScope, subject).map(serviceJson),
  };
}

/** Which outbound clusters a proxy has: one a port of each service in scope, one more a subset. */
import { isPoolService } from "@flotilla/gateway-api";
import {
  clusterName,
  isHttp,
  parseClusterName,
  parseSniName,
  type Service,
  type ServicePort,
  sniName,
} from "@flotilla/model";
import { destinationRuleOf } from "../../snapshot/scope/destination-rules.ts";
import { routedServices } from "../../snapshot/scope/routed-services.ts";
import { visibleService, visibleServices } from "../../snapshot/scope/sidecar-scope.ts";
import { waypointDestinations } from "../../snapshot/scope/waypoint-services.ts";
import { query, type View } from "../../snapshot/view.ts";
import { type ClusterTarget, identicalTarget } from "./cluster-target.ts";
import { isResolvedByProxy } from "./discovery-type.ts";
import { hasEndpoint } from "./load-assignments.ts";

/** In order of the services in scope. */
export const outboundClusterNames = query<readonly string[]>("outbound-cluster-names", (view) => {
  const services = view.proxy.type === "router" ? routedServices(view) : visibleServices(view);
  return services.flatMap((service) => namesOfService(view, service, false));
});

/** Of the services that a waypoint calls itself. */
export const waypointOutboundNames = query<readonly string[]>("waypoint-outbound-names", (view) =>
  view.read(waypointDestinations).flatMap((service) => namesOfService(view, service, false)),
);

/** Those that a gateway between networks distinguishes by their server name, of the mesh's own services. */
export const passingClusterNames = query<readonly string[]>("passing-cluster-names", (view) =>
  visibleServices(view)
    .filter(({ meshExternal }) => !meshExternal)
    .flatMap((service) => namesOfService(view, service, true)),
);

function namesOfService(view: View, service: Service, passesTls: boolean): readonly string[] {
  if (service.resolution === "alias") return [];
  const rule = destinationRuleOf(view, service);
  // Names that are resolved as requests come have no endpoints that a subset could choose from.
  const named = service.resolution === "dynamic-dns" ? [] : (rule?.spec.subsets ?? []);
  const subsets = ["", ...named.map(({ name }) => name)];
  return clusterPorts(service).flatMap((port) =>
    subsets
      .map((subset) => {
        const name = (passesTls ? sniName : clusterName)("outbound", port.number, subset, service.hostname);
        return identicalTarget({ name, service, port, subset, rule, passesTls });
      })
      .filter((target) => !isResolvedByProxy(view, target) || hasEndpoint(view, target))
      .map(({ name }) => name),
  );
}

/** The first port of a pool's Service stands for all of them. */
function clusterPorts(service: Service): readonly ServicePort[] {
  const ports = service.ports.filter((port) => hasCluster(service, port));
  return isPoolService(service.labels) ? ports.slice(0, 1) : ports;
}

/** Names below a wildcard can be distinguished by what callers send only: by a Host header or a server name. */
function hasCluster({ resolution }: Service, { protocol }: ServicePort): boolean {
  return resolution === "dynamic-dns" ? isHttp(protocol) || protocol === "TLS" : protocol !== "UDP";
}

/** Only gateways lead datagrams to services. */
function datagramPort({ proxy }: View, { ports }: Service, wanted: number): ServicePort | undefined {
  if (proxy.type !== "router") return undefined;
  return ports.find(({ number, protocol }) => number === wanted && protocol === "UDP");
}

/** What a cluster's name means to the proxy; undefined when it has no such cluster. */
export function clusterTarget(view: View, name: string): ClusterTarget | undefined {
  return view.read(namedTarget, name);
}

/** Kept: a change of endpoints does not look for their service and its rule anew. */
const namedTarget = query<ClusterTarget | undefined, string>(
  "cluster-target",
  (view, text) => {
    const ownName = parseClusterName(text);
    const parts = ownName ?? parseSniName(text);
    if (parts === undefined || parts.direction !== "outbound") return undefined;
    const service = visibleService(view, parts.hostname);
    // DNS has one number for UDP and TCP.
    const port =
      service &&
      (clusterPorts(service).find(({ number }) => number === parts.port) ?? datagramPort(view, service, parts.port));
    if (service === undefined || port === undefined) return undefined;
    const { subset } = parts;
    const passesTls = ownName === undefined;
    const name = (passesTls ? sniName : clusterName)("outbound", port.number, subset, parts.hostname);
    return identicalTarget({ name, service, port, subset, rule: destinationRuleOf(view, service), passesTls });
  },
  Object.is,
);

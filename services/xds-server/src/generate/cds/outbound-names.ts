/** Which outbound clusters a proxy has: one a port of each service in scope, one more a subset. */
import { clusterName, isHttp, parseClusterName, type Service, type ServicePort } from "@flotilla/model";
import { destinationRuleOf } from "../../snapshot/scope/destination-rules.ts";
import { visibleService, visibleServices } from "../../snapshot/scope/sidecar-scope.ts";
import { query, type View } from "../../snapshot/view.ts";

/** In order of the services in scope. */
export const outboundClusterNames = query<readonly string[]>("outbound-cluster-names", (view) =>
  visibleServices(view).flatMap((service) => namesOfService(view, service)),
);

function namesOfService(view: View, service: Service): readonly string[] {
  if (service.resolution === "alias") return [];
  const subsets = destinationRuleOf(view, service)?.spec.subsets ?? [];
  return service.ports
    .filter((port) => hasCluster(service, port))
    .flatMap(({ number }) =>
      ["", ...subsets.map(({ name }) => name)].map((subset) =>
        clusterName("outbound", number, subset, service.hostname),
      ),
    );
}

/** Names below a wildcard can be told from what callers say only: by a Host header or a server name. */
function hasCluster({ resolution }: Service, { protocol }: ServicePort): boolean {
  return resolution === "dynamic-dns" ? isHttp(protocol) || protocol === "TLS" : protocol !== "UDP";
}

export interface ClusterTarget {
  readonly name: string;
  readonly service: Service;
  readonly port: ServicePort;
  readonly subset: string;
}

/** By service and name, so that whoever means the same finds the identical target. */
const targets = new WeakMap<Service, Map<string, ClusterTarget>>();

/** What a cluster's name means to the proxy; undefined when it has no such cluster. */
export function clusterTarget(view: View, name: string): ClusterTarget | undefined {
  const parts = parseClusterName(name);
  if (parts === undefined || parts.direction !== "outbound") return undefined;
  const service = visibleService(view, parts.hostname);
  // DNS has one number for UDP and TCP.
  const port = service?.ports.find((one) => one.number === parts.port && hasCluster(service, one));
  return service === undefined || port === undefined ? undefined : targetOf(name, service, port, parts.subset);
}

function targetOf(name: string, service: Service, port: ServicePort, subset: string): ClusterTarget {
  const known = targets.get(service) ?? new Map<string, ClusterTarget>();
  targets.set(service, known);
  const target = known.get(name) ?? { name, service, port, subset };
  known.set(name, target);
  return target;
}

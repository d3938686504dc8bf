/** Which outbound clusters a proxy has: one a port of each service in scope, one more a subset. */
import { type Config, clusterName, isHttp, parseClusterName, type Service, type ServicePort } from "@flotilla/model";
import type { DestinationRule } from "@flotilla/proto/networking/v1alpha3/destination_rule_pb";
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
  /** The rule that the proxy follows for the service. */
  readonly rule: Config<DestinationRule> | undefined;
}

/** By service, rule and name, so that whoever means the same finds the identical target. */
const targets = new WeakMap<Service, WeakMap<object, Map<string, ClusterTarget>>>();
const noRule = {};

/** What a cluster's name means to the proxy; undefined when it has no such cluster. */
export function clusterTarget(view: View, name: string): ClusterTarget | undefined {
  const parts = parseClusterName(name);
  if (parts === undefined || parts.direction !== "outbound") return undefined;
  const service = visibleService(view, parts.hostname);
  // DNS has one number for UDP and TCP.
  const port = service?.ports.find((one) => one.number === parts.port && hasCluster(service, one));
  if (service === undefined || port === undefined) return undefined;
  return identicalTarget({ name, service, port, subset: parts.subset, rule: destinationRuleOf(view, service) });
}

function identicalTarget(target: ClusterTarget): ClusterTarget {
  const { name, service, rule } = target;
  const ofService = targets.get(service) ?? new WeakMap<object, Map<string, ClusterTarget>>();
  targets.set(service, ofService);
  const ofRule = ofService.get(rule ?? noRule) ?? new Map<string, ClusterTarget>();
  ofService.set(rule ?? noRule, ofRule);
  const known = ofRule.get(name) ?? target;
  ofRule.set(name, known);
  return known;
}

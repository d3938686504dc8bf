/** What the name of an outbound cluster means to a proxy. */
import type { ClusterName, Config, Service, ServicePort } from "@flotilla/model";
import type { DestinationRule } from "@flotilla/proto/networking/v1alpha3/destination_rule_pb";
import type { Layer } from "./vip-cluster.ts";

export interface ClusterTarget {
  readonly name: ClusterName;
  readonly service: Service;
  readonly port: ServicePort;
  readonly subset: string;
  /** The rule that the proxy follows for the service. */
  readonly rule: Config<DestinationRule> | undefined;
  /** Of a gateway between networks: the caller's own TLS is passed on to an endpoint that ends it. */
  readonly passesTls: boolean;
  /** What a waypoint carries to a service behind it. */
  readonly layer?: Layer;
}

/** By service, rule and name, so that whoever means the same finds the identical target. */
const targets = new WeakMap<Service, WeakMap<object, Map<string, ClusterTarget>>>();
const noRule = {};

export function identicalTarget(target: ClusterTarget): ClusterTarget {
  const { name, service, rule } = target;
  const ofService = targets.get(service) ?? new WeakMap<object, Map<string, ClusterTarget>>();
  targets.set(service, ofService);
  const ofRule = ofService.get(rule ?? noRule) ?? new Map<string, ClusterTarget>();
  ofService.set(rule ?? noRule, ofRule);
  const known = ofRule.get(name) ?? target;
  ofRule.set(name, known);
  return known;
}

/** Its endpoints are names that the proxy resolves itself. */
export function isByDns({ resolution }: Service): boolean {
  return resolution === "dns" || resolution === "dns-round-robin";
}

/** Resolves the name of an outbound cluster for a proxy, and the inputs that decide the mesh's own TLS towards its service. */
import { isPoolService } from "@flotilla/gateway-api";
import {
  type ClusterName,
  type Config,
  clusterName,
  isHttp,
  parseClusterName,
  parseSniName,
  type Service,
  type ServicePort,
  sniName,
  type TextOf,
  textCodec,
} from "@flotilla/model";
import type { DestinationRule } from "@flotilla/proto/networking/v1alpha3/destination_rule_pb";
import { type ServiceText, serviceText } from "../../snapshot/row-index.ts";
import { namespaceMode } from "../../snapshot/scope/authn.ts";
import { destinationRuleOf } from "../../snapshot/scope/destination-rules.ts";
import { servicesOfName } from "../../snapshot/scope/services.ts";
import { visibleService } from "../../snapshot/scope/sidecar-scope.ts";
import { query, type View } from "../../snapshot/view.ts";
import { isPassthrough } from "../envoy/clusters/load-balancer.ts";
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
  /** The layer that a waypoint carries to a service behind it. */
  readonly layer?: Layer;
  /** Only endpoints of the proxy's own workload, in its region. */
  readonly isOwnWorkload?: true;
}

/** By service, rule and name, so that equal lookups find the identical target. */
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

/** The first port of a pool's Service stands for all of them. */
export function clusterPorts(service: Service): readonly ServicePort[] {
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

/** Resolves a cluster's name for the proxy; undefined when it has no such cluster. */
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

/** Its endpoints are names that the proxy resolves itself. */
export function isByDns({ resolution }: Service): boolean {
  return resolution === "dns" || resolution === "dns-round-robin";
}

/**
 * Automatic mutual TLS, where no rule states otherwise. With the caller's original destination the choice cannot be made by endpoint: all
 * of them have to take it. So it is for headless services even when their endpoints are known.
 */
export function automaticTlsMode(
  view: View,
  { service, port, rule, subset }: ClusterTarget,
  isOriginalDestination: boolean,
): "none" | "every-endpoint" | "by-endpoint" {
  if (view.mesh.enableAutoMtls === false || service.meshExternal) return "none";
  if (namespaceMode(view, service.namespace) === "DISABLE") return "none";
  // As in istiod, a subset asks whether all endpoints take it where its own policy is PASSTHROUGH, not where the rule's is.
  const stated = subset === "" ? rule?.spec : rule?.spec.subsets.find(({ name }) => name === subset);
  const asksAll = isPassthrough(stated?.trafficPolicy?.loadBalancer);
  const isWhole = service.resolution === "passthrough" || asksAll;
  if (
    isWhole &&
    !view.read(
      everyEndpointTakesTls,
      portText.write({ namespace: service.namespace, hostname: service.hostname, port: port.name }),
    )
  )
    return "none";
  return isOriginalDestination ? "every-endpoint" : "by-endpoint";
}

const portText = textCodec("ServicePort", "/", ["namespace", "hostname", "port"]);

const everyEndpointTakesTls = query<boolean, TextOf<typeof portText>>("every-endpoint-takes-tls", (view, text) => {
  const service = portText.read(text);
  const endpoints = [...view.endpoints(service).values()]
    .flat()
    .filter(({ servicePortName }) => servicePortName === service.port);
  return endpoints.length > 0 && endpoints.every(({ tlsMode }) => tlsMode === "istio");
});

/** Identities that may stand behind a service: those it declares and those of its endpoints. */
export function upstreamIdentities(view: View, service: Service): readonly string[] {
  const found = view.read(endpointIdentities, serviceText.write(service));
  // Of several ServiceEntries for a host the youngest speaks for all. Source: scenario serviceentry/sans-and-overlap.
  const youngest = view
    .read(servicesOfName, serviceText.write(service))
    .reduce((latest, other) => (other.creationTimeMs >= latest.creationTimeMs ? other : latest), service);
  const { trustDomain, trustDomainAliases } = view.mesh;
  const identities = inTrustDomains([...youngest.serviceAccounts, ...found], [trustDomain, ...trustDomainAliases]);
  return [...new Set(identities)].sort();
}

/** Most changes of endpoints leave these as they are, and with them the cluster. */
const endpointIdentities = query<readonly string[], ServiceText>("endpoint-identities", (view, text) => {
  const endpoints = [...view.endpoints(serviceText.read(text)).values()].flat();
  const found = endpoints.map(({ serviceAccount }) => serviceAccount).filter((identity) => identity !== "");
  return [...new Set(found)].sort();
});

/** A workload of one of the mesh's trust domains may show a certificate of any other of them. */
function inTrustDomains(identities: readonly string[], domains: readonly string[]): readonly string[] {
  if (domains.length < 2) return identities;
  return identities.flatMap((identity) => {
    const [, domain, rest] = /^spiffe:\/\/([^/]+)(\/.*)$/.exec(identity) ?? [];
    const isOwn = domain !== undefined && domains.includes(domain);
    return isOwn ? domains.map((other) => `spiffe://${other}${rest}`) : [identity];
  });
}

/**
 * Client certificate, key and root that the proxy has as files, one a line; empty when it has none. They do not count towards
 * services outside of the mesh: there a rule's own TLS holds. Source: Istio's setting of the name below.
 */
export function clientFiles(view: View, service: Service): string {
  if (service.meshExternal && view.feature("preferDestinationRuleTls")) return "";
  const files = ["TLS_CLIENT_CERT_CHAIN", "TLS_CLIENT_KEY", "TLS_CLIENT_ROOT_CERT"].map((key) =>
    view.proxy.metadataText(key),
  );
  // As in istiod, a proxy without a chain has no certificate of its own: its other files do not count.
  return files[0] === "" ? "" : files.join("\n");
}

/**
 * Everything a computation may ask about the proxy. Proxies that answer alike share the result, so
 * a question should be as coarse as its use: ask whether a selector matches, not for all labels.
 */
import type { Facet } from "@flotilla/incremental";
import {
  compareIstioVersions,
  type IpMode,
  type IstioVersion,
  isIpv4,
  isIpv6,
  type Labels,
  type Locality,
  matchesLabels,
  metadataFlag,
  metadataText,
  ownValue,
  type PodPort,
  type ProxyType,
  podPorts,
} from "@flotilla/model";
import type { ProxyPattern } from "./proxy-pattern.ts";
import type { SecretAccess, ServiceTarget, Subject } from "./subject.ts";

type ProxyFacet<Arg, Value> = Facet<Subject, Arg, Value>;

export const facets = {
  type: facet<ProxyType>("type", ({ proxy }) => proxy.type),
  generator: facet<string>("generator", ({ proxy }) => proxy.generator),
  namespace: facet<string>("namespace", ({ proxy }) => proxy.namespace),
  dnsDomain: facet<string>("dns-domain", ({ proxy }) => proxy.dnsDomain),
  clusterId: facet<string>("cluster-id", ({ proxy }) => proxy.clusterId),
  nodeCluster: facet<string>("node-cluster", ({ proxy }) => proxy.nodeCluster),
  network: facet<string>("network", ({ proxy }) => proxy.network),
  secretAccess: facet<SecretAccess | undefined>("secret-access", ({ secretAccess }) => secretAccess),
  isProven: facet<boolean>("is-proven", ({ isProven }) => isProven === true),
  serviceAccount: facet<string>("service-account", ({ proxy }) => proxy.serviceAccount),
  locality: facet<Locality>("locality", ({ proxy, locality }) => locality ?? proxy.locality),
  id: facet<string>("id", ({ proxy }) => proxy.id),
  addresses: facet<readonly string[]>("addresses", ({ proxy }) => proxy.ipAddresses),
  ipMode: facet<IpMode>("ip-mode", ({ proxy }) => ipModeOf(proxy.ipAddresses)),
  /** Copied out to logs and stats, for example. Prefer `matches` and `label`. */
  labels: facet<Readonly<Record<string, string>>>("labels", ({ proxy }) => proxy.labels),
  podPorts: facet<readonly PodPort[]>("pod-ports", ({ proxy }) => podPorts(proxy.metadata)),
  targets: facet<readonly ServiceTarget[]>("targets", ({ targets }) => targets),
  label: { name: "label", read: ({ proxy }, key) => ownValue(proxy.labels, key) } as ProxyFacet<
    string,
    string | undefined
  >,
  matches: {
    name: "matches",
    read: ({ proxy }, selector) => matchesLabels(selector, proxy.labels),
  } as ProxyFacet<Labels, boolean>,
  /** Places in a list of selectors. One question, however long the list: as many would make a chain as long as that. */
  firstMatch: {
    name: "first-match",
    read: ({ proxy }, selectors) => selectors.findIndex((selector) => matchesLabels(selector, proxy.labels)),
  } as ProxyFacet<readonly Labels[], number>,
  allMatches: {
    name: "all-matches",
    read: ({ proxy }, selectors) =>
      selectors.flatMap((selector, i) => (matchesLabels(selector, proxy.labels) ? [i] : [])),
  } as ProxyFacet<readonly Labels[], readonly number[]>,
  /** Places in a list of patterns of proxies. */
  allPatterns: {
    name: "all-patterns",
    read: ({ proxy }, patterns) => patterns.flatMap((pattern, i) => (pattern.matches(proxy) ? [i] : [])),
  } as ProxyFacet<readonly ProxyPattern[], readonly number[]>,
  /** The raw metadata value, whatever its type. */
  metadata: { name: "metadata", read: ({ proxy }, key) => ownValue(proxy.metadata, key) } as ProxyFacet<
    string,
    unknown
  >,
  metadataText: { name: "text", read: ({ proxy }, key) => metadataText(proxy.metadata, key) } as ProxyFacet<
    string,
    string
  >,
  metadataFlag: { name: "flag", read: ({ proxy }, key) => metadataFlag(proxy.metadata, key) } as ProxyFacet<
    string,
    boolean
  >,
  /** One value (`a.b.c`) of the ProxyConfig that the proxy was started with; no `config` when it did not report. */
  proxyConfig: {
    name: "proxy-config",
    read: ({ proxy }, path) => {
      const config = proxy.metadata["PROXY_CONFIG"];
      return typeof config === "object" && config !== null ? { value: valueAt(config, path) } : undefined;
    },
  } as ProxyFacet<string, { readonly value: unknown } | undefined>,
  /** True when the proxy is of this version or newer; an unknown version is newest. */
  isAtLeast: {
    name: "at-least",
    read: ({ proxy }, version) => compareIstioVersions(proxy.version, version) >= 0,
  } as ProxyFacet<IstioVersion, boolean>,
  /** False only when the client listed its extensions and this type URL is not among them. */
  supports: {
    name: "supports",
    read: ({ proxy }, typeUrl) => proxy.extensions === undefined || proxy.extensions.has(typeUrl),
  } as ProxyFacet<string, boolean>,
};

function facet<Value>(name: string, read: (subject: Subject) => Value): ProxyFacet<undefined, Value> {
  return { name, read };
}

function valueAt(object: unknown, path: string): unknown {
  return path
    .split(".")
    .reduce<unknown>(
      (value, key) => ownValue(value as Readonly<Record<string, unknown>> | null | undefined, key),
      object,
    );
}

function ipModeOf(addresses: readonly string[]): IpMode {
  const [v4, v6] = [addresses.some(isIpv4), addresses.some(isIpv6)];
  return v4 && v6 ? "dual" : v6 ? "ipv6" : "ipv4";
}

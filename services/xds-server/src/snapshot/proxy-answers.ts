/**
 * Everything a computation may ask about the proxy, and the proxy's answers. Proxies that answer alike share the result, so
 * a question should be as coarse as its use: ask whether a selector matches, not for all labels.
 */
import type { Context, Facet } from "@flotilla/incremental";
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
  metadataMap,
  metadataText,
  ownValue,
  type PodPort,
  type ProxyType,
  podPorts,
} from "@flotilla/model";
import type { ProxyPattern } from "./proxy-pattern.ts";
import type { SecretAccess, ServiceTarget, Subject } from "./subject.ts";

type ProxyFacet<Arg, Value> = Facet<Subject, Arg, Value>;

/** The questions. */
export const facets = {
  type: facet<ProxyType>("type", ({ proxy }) => proxy.type),
  generator: facet<string>("generator", ({ proxy }) => proxy.generator),
  namespace: facet<string>("namespace", ({ proxy }) => proxy.namespace),
  dnsDomain: facet<string>("dns-domain", ({ proxy }) => proxy.dnsDomain),
  clusterId: facet<string>("cluster-id", ({ proxy }) => proxy.clusterId),
  /** The proxy's cluster where the list has it: proxies of all others are alike. */
  clusterAmong: {
    name: "cluster-among",
    read: ({ proxy }, clusters) => clusters.find((one) => one === proxy.clusterId),
  } as ProxyFacet<readonly string[], string | undefined>,
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
  labels: facet<Labels>("labels", labelsOf),
  podPorts: facet<readonly PodPort[]>("pod-ports", ({ proxy }) => podPorts(proxy.metadata)),
  targets: facet<readonly ServiceTarget[]>("targets", ({ targets }) => targets),
  label: { name: "label", read: (subject, key) => ownValue(labelsOf(subject), key) } as ProxyFacet<
    string,
    string | undefined
  >,
  matches: {
    name: "matches",
    read: (subject, selector) => matchesLabels(selector, labelsOf(subject)),
  } as ProxyFacet<Labels, boolean>,
  /** Places in a list of selectors. One question, however long the list: as many would make a chain as long as that. */
  firstMatch: {
    name: "first-match",
    read: (subject, selectors) => selectors.findIndex((selector) => matchesLabels(selector, labelsOf(subject))),
  } as ProxyFacet<readonly Labels[], number>,
  allMatches: {
    name: "all-matches",
    read: (subject, selectors) => {
      const labels = labelsOf(subject);
      return selectors.flatMap((selector, i) => (matchesLabels(selector, labels) ? [i] : []));
    },
  } as ProxyFacet<readonly Labels[], readonly number[]>,
  /** Places in a list of patterns of proxies. */
  allPatterns: {
    name: "all-patterns",
    read: ({ proxy }, patterns) => patterns.flatMap((pattern, i) => (pattern.matches(proxy) ? [i] : [])),
  } as ProxyFacet<readonly ProxyPattern[], readonly number[]>,
  annotation: {
    name: "annotation",
    read: ({ proxy }, key) => ownValue(metadataMap(proxy.metadata, "ANNOTATIONS"), key),
  } as ProxyFacet<string, string | undefined>,
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

/** Of the workload's registry, else as the proxy reports them. */
function labelsOf({ labels, proxy }: Subject): Labels {
  return labels ?? proxy.labels;
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

/** The proxy's answers; each one asked becomes part of what decides who shares the result. */
export class ProxyAnswers {
  readonly #context: Context<Subject>;

  constructor(context: Context<Subject>) {
    this.#context = context;
  }

  get type(): ProxyType {
    return this.#ask(facets.type);
  }
  get generator(): string {
    return this.#ask(facets.generator);
  }
  get namespace(): string {
    return this.#ask(facets.namespace);
  }
  get dnsDomain(): string {
    return this.#ask(facets.dnsDomain);
  }
  get clusterId(): string {
    return this.#ask(facets.clusterId);
  }
  /** Undefined where it is none of these. */
  clusterAmong(clusters: readonly string[]): string | undefined {
    return clusters.length === 0 ? undefined : this.#context.facet(facets.clusterAmong, clusters);
  }
  get nodeCluster(): string {
    return this.#ask(facets.nodeCluster);
  }
  get network(): string {
    return this.#ask(facets.network);
  }
  get serviceAccount(): string {
    return this.#ask(facets.serviceAccount);
  }
  get secretAccess(): SecretAccess | undefined {
    return this.#ask(facets.secretAccess);
  }
  get isProven(): boolean {
    return this.#ask(facets.isProven);
  }
  get locality(): Locality {
    return this.#ask(facets.locality);
  }
  /** Of its pod, as its agent reports them. */
  annotation(name: string): string | undefined {
    return this.#context.facet(facets.annotation, name);
  }
  /** `name.namespace`: asking makes the result the proxy's own. */
  get id(): string {
    return this.#ask(facets.id);
  }
  /** Asking makes the result the proxy's own. */
  get addresses(): readonly string[] {
    return this.#ask(facets.addresses);
  }
  get ipMode(): IpMode {
    return this.#ask(facets.ipMode);
  }
  get labels(): Labels {
    return this.#ask(facets.labels);
  }
  get podPorts(): readonly PodPort[] {
    return this.#ask(facets.podPorts);
  }
  get targets(): readonly ServiceTarget[] {
    return this.#ask(facets.targets);
  }
  label(name: string): string | undefined {
    return this.#context.facet(facets.label, name);
  }
  matches(selector: Labels): boolean {
    return this.#context.facet(facets.matches, selector);
  }
  /** The first of the objects that selects the proxy. */
  firstSelecting<One>(objects: readonly One[], selectorOf: (one: One) => Labels): One | undefined {
    if (objects.length === 0) return undefined;
    return objects[this.#context.facet(facets.firstMatch, objects.map(selectorOf))];
  }
  /** All of the objects that select the proxy. */
  selecting<One>(objects: readonly One[], selectorOf: (one: One) => Labels): readonly One[] {
    if (objects.length === 0) return [];
    const places = this.#context.facet(facets.allMatches, objects.map(selectorOf));
    return places.flatMap((place) => objects[place] ?? []);
  }
  /** Those of the patterns that the proxy matches. */
  matching(patterns: readonly ProxyPattern[]): ReadonlySet<ProxyPattern> {
    if (patterns.length === 0) return new Set();
    const places = this.#context.facet(facets.allPatterns, patterns);
    return new Set(places.flatMap((place) => patterns[place] ?? []));
  }
  metadata(key: string): unknown {
    return this.#context.facet(facets.metadata, key);
  }
  metadataText(key: string): string {
    return this.#context.facet(facets.metadataText, key);
  }
  metadataFlag(key: string): boolean {
    return this.#context.facet(facets.metadataFlag, key);
  }
  /** One value (`a.b.c`) of the ProxyConfig that the proxy was started with; undefined when it did not report any. */
  proxyConfig(path: string): { readonly value: unknown } | undefined {
    return this.#context.facet(facets.proxyConfig, path);
  }
  isAtLeast(major: number, minor: number, patch = 0): boolean {
    return this.#context.facet(facets.isAtLeast, { major, minor, patch });
  }
  /** True where the client can load an extension of this type URL; unknown counts as yes. */
  supports(typeUrl: string): boolean {
    return this.#context.facet(facets.supports, typeUrl);
  }

  #ask<Value>(facet: Facet<Subject, undefined, Value>): Value {
    return this.#context.facet(facet, undefined);
  }
}

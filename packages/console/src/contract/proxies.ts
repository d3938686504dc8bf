/** Proxies of the whole fleet, one of them, and what they reject. */
import type { Difference, FacetedPage, ObjectName, Page, PageQuery } from "./common.ts";

/** `cds`, `lds`, `rds`, `srds`, `eds`, `sds`, `ecds`, `nds`, `pcds`, and of ambient `wds`, `wads`; a type URL for another one. */
export type ShortType = string;

/** `GET /api/v1/proxies`. Sorted by `proxy`, `namespace`, `type`, `version`, `replica`, `connectedAt`, `state`. */
export interface ProxiesQuery extends PageQuery {
  readonly namespace?: string;
  readonly type?: string;
  readonly version?: string;
  readonly replica?: string;
  readonly state?: string;
}

/** The fleet, whatever replica a proxy is connected to. */
export type ProxyPage = FacetedPage<ProxyRow, "namespace" | "type" | "version" | "replica" | "state">;

/** A connected proxy. */
export interface ProxyRow {
  /** `name.namespace`. */
  readonly proxy: string;
  readonly namespace: string;
  /** `sidecar`, `router`, `waypoint`, `ztunnel`, `grpc`. */
  readonly type: string;
  readonly version: string;
  /** Cluster of the mesh. */
  readonly cluster: string;
  /** Replica of xds-server. */
  readonly replica: string;
  /** Address of the other end of its connection. */
  readonly peer: string;
  readonly connectedAt: string;
  /** `rejected` when any type is; `sending` when any type waits for its acknowledgement. */
  readonly state: SyncState;
  readonly types: Readonly<Record<ShortType, TypeState>>;
}

/** How a proxy stands with a type of resources. */
export type SyncState = "synced" | "sending" | "rejected";

/** A type of resources of a proxy. */
export interface TypeState {
  readonly state: SyncState;
  readonly version?: string;
  readonly sentAt?: string;
  /** Generations: what the last message, and the last one that was acknowledged, reflect. */
  readonly sentGeneration?: number;
  readonly ackedGeneration?: number;
  /** Envoy's words. */
  readonly error?: string;
}

/** `GET /api/v1/proxies/{proxy}` */
export interface ProxyDetail extends ProxyRow {
  readonly labels: Readonly<Record<string, string>>;
  /** Node, network, locality and what else the proxy reports of itself, as text. */
  readonly metadata: Readonly<Record<string, string>>;
  readonly locality: string;
  /** Its resources, by type. */
  readonly resources: readonly TypeSummary[];
  readonly rejections: readonly RejectionGroup[];
  /** Answer to `…/stats` is there: the address of its Envoy's admin interface is known. */
  readonly hasStats: boolean;
}

/** The resources of one type. */
export interface TypeSummary {
  readonly type: ShortType;
  readonly count: number;
  readonly bytes: number;
}

/** `GET /api/v1/proxies/{proxy}/resources`. Sorted by `name`, `bytes`, `changedAt`. */
export interface ResourcesQuery extends PageQuery {
  readonly type: ShortType;
}

/** A resource as a proxy has it. */
export interface ResourceRow {
  readonly type: ShortType;
  readonly name: string;
  readonly version: string;
  /** Of its encoded form. */
  readonly bytes: number;
  /** Objects that it was made from; the first ten, `madeFromCount` counts all. */
  readonly madeFrom: readonly ObjectName[];
  readonly madeFromCount: number;
}

export type ResourcePage = Page<ResourceRow>;

/** `GET /api/v1/proxies/{proxy}/resource?type=&name=`: one resource, and why it is what it is. */
export interface ResourceDetail {
  readonly type: ShortType;
  readonly name: string;
  readonly version: string;
  /** Without secrets. */
  readonly content: unknown;
  readonly explanation: Explanation;
}

/** Why a proxy has a resource as it is, as `flotilla explain` shows it. */
export interface Explanation {
  /** The generation that is shown. */
  readonly generation: number;
  /** The change that made it what it is; absent where it has not changed since the proxy connected, or for longer than is kept. */
  readonly since?: { readonly generation: number; readonly at: string };
  readonly change?: { readonly causedBy: readonly string[]; readonly differences: readonly Difference[] };
  readonly madeFrom: readonly Origin[];
  readonly acknowledged?: { readonly generation: number; readonly at: string };
  /** Envoy's words. */
  readonly rejected?: string;
}

/** An object that went into a resource. */
export interface Origin {
  /** An object's name, or a sentence for what is none, such as settings. */
  readonly object: string;
  readonly generation?: number;
  readonly at?: string;
  readonly by?: string;
  /** A file and line, a cluster. */
  readonly source?: string;
}

/** `GET /api/v1/proxies/{proxy}/diff`: against another proxy (`with=`), or without it against the generation before. */
export interface ProxyDiffQuery extends PageQuery {
  /** Another proxy, as `name.namespace`. */
  readonly with?: string;
  /** Types that are compared; all if absent. */
  readonly type?: ShortType;
}

/** Sorted by type and name. */
export type ProxyDiff = Page<ResourceDifference>;

/** `added`: only this proxy has it now; `removed`: it had it before, or only the other proxy has it. */
export interface ResourceDifference {
  readonly type: ShortType;
  readonly name: string;
  readonly op: "added" | "removed" | "changed";
  /** 200 at most; without secrets. */
  readonly differences: readonly Difference[];
}

/** `GET /api/v1/rejections`. Sorted by `object`, `proxies`, `firstAt`, `lastAt` (`-lastAt` if absent). */
export interface RejectionsQuery extends PageQuery {
  readonly type?: ShortType;
  readonly namespace?: string;
}

export type RejectionPage = FacetedPage<RejectionGroup, "type" | "namespace">;

/** Current rejections of proxies, by the object that is blamed and the type. */
export interface RejectionGroup {
  /** Absent where no object is blamed. */
  readonly object?: ObjectName;
  readonly type: ShortType;
  /** Names of the rejected resources, 20 at most. */
  readonly resources: readonly string[];
  /** Envoy's words, of the last rejection. */
  readonly message: string;
  /** Field of the resource that Envoy names, such as `RouteConfiguration.virtual_hosts`, where it names one. */
  readonly field?: string;
  readonly firstAt: string;
  readonly lastAt: string;
  /** Proxies that reject it; at most 100 of them are named. */
  readonly proxies: readonly string[];
  readonly proxyCount: number;
  /** The generation that they reject. */
  readonly generation: number;
}

/**
 * `GET /api/v1/proxies/{proxy}/stats`: statistics of its Envoy that are in use, as Prometheus reads them, without `envoy_`; of histograms the sum and the
 * count. Sorted by `name`, `value`. 404 where the address of its admin interface is not known.
 */
export type ProxyStats = Page<StatRow>;

export interface StatRow {
  /** With labels: `cluster_upstream_rq_total{cluster_name="outbound|80||web.example"}`. */
  readonly name: string;
  readonly value: number;
}

/** Certificates, settings and the topology. */
import type { FacetedPage, Page, PageQuery, Partially, ServiceName } from "./common.ts";

/** `GET /api/v1/certificates` */
export interface Certificates extends Partially {
  readonly trustDomains: readonly string[];
  readonly signing?: CertificateSummary & { readonly origin: string };
  readonly roots: readonly CertificateSummary[];
  readonly rotation?: Rotation;
  /** Over the last hour, or since the console started; one for each `stepMs`. */
  readonly issued: readonly { readonly at: string; readonly issued: number; readonly failed: number }[];
  readonly stepMs: number;
  /** Certificates that end within seven days and whose holder is on record, the first to end first, 200 at most. */
  readonly endingSoon: readonly {
    readonly holder: string;
    readonly notAfter: string;
    readonly isConnected?: boolean;
  }[];
}

export interface CertificateSummary {
  readonly name: string;
  readonly serial: string;
  readonly sha256: string;
  readonly notBefore: string;
  readonly notAfter: string;
  readonly daysLeft: number;
}

/** The replacement of the root, as `flotilla ca status` shows it. */
export interface Rotation {
  readonly phase: "idle" | "trusting" | "issuing" | "reverting" | "finishing";
  /** One sentence. */
  readonly meaning: string;
  readonly since?: string;
  readonly roots?: { readonly old: string; readonly next: string };
  readonly last?: { readonly id: string; readonly outcome: string; readonly at: string };
  readonly holdups: readonly { readonly name: string; readonly reason: string; readonly isConnected?: boolean }[];
  /** Certificates on record. */
  readonly certificates: number;
  readonly proxies: number;
}

/** `GET /api/v1/settings` */
export interface Settings extends Partially {
  readonly services: readonly ServiceSettings[];
}

/** Of one replica. */
export interface ServiceSettings {
  readonly service: ServiceName;
  readonly replica: string;
  readonly version: string;
  readonly settings: readonly { readonly name: string; readonly value: string; readonly isDefault: boolean }[];
  /** Of parts of the service; `default` for what is not listed. */
  readonly levels: readonly { readonly scope: string; readonly level: LogLevel }[];
}

export type LogLevel = "debug" | "info" | "warn" | "error" | "silent";

/** `PUT /api/v1/settings/{service}/{replica}/levels`; holds until the process ends. */
export interface LevelChange {
  readonly scope: string;
  readonly level: LogLevel;
}

/** `GET /api/v1/topology/namespaces`: sorted by `namespace`, `services`, `workloads`. */
export type NamespacePage = Page<NamespaceRow>;

export interface NamespaceRow {
  readonly namespace: string;
  readonly services: number;
  readonly proxies: number;
  readonly policies: number;
}

/** `GET /api/v1/topology/services`: sorted by `hostname`, `namespace`, `endpoints`. */
export interface ServicesQuery extends PageQuery {
  readonly namespace?: string;
  readonly registry?: string;
}

export type TopologyServicePage = FacetedPage<TopologyService, "namespace" | "registry">;

/** A service of the mesh. */
export interface TopologyService {
  readonly hostname: string;
  readonly namespace: string;
  readonly registry: string;
  readonly ports: readonly { readonly name: string; readonly number: number; readonly protocol: string }[];
  /** Endpoints that are known, and those of them that are healthy. */
  readonly endpoints: number;
  readonly healthy: number;
}

/** `GET /api/v1/topology/services/{namespace}/{hostname}`: a service and its neighbours, 200 nodes at most. */
export interface Neighbourhood extends Partially {
  readonly service: TopologyService;
  readonly nodes: readonly GraphNode[];
  readonly edges: readonly GraphEdge[];
  /** Neighbours that are left out. */
  readonly omitted: number;
  /** Objects that apply to the service, by what they decide. */
  readonly policies: readonly { readonly object: string; readonly kind: string; readonly summary: string }[];
  readonly mtls: "STRICT" | "PERMISSIVE" | "DISABLE";
}

/** Positions are a layout of the server's, within -1 to 1. */
export interface GraphNode {
  readonly id: string;
  readonly label: string;
  readonly kind: "service" | "workload" | "gateway" | "external";
  readonly namespace: string;
  readonly x: number;
  readonly y: number;
}

/** A way that requests may take. */
export interface GraphEdge {
  readonly from: string;
  readonly to: string;
  /** Share of the requests of the route, 0 to 100; absent where nothing divides them. */
  readonly weight?: number;
  /** The object that makes it, such as a VirtualService. */
  readonly object?: string;
  readonly mtls?: "STRICT" | "PERMISSIVE" | "DISABLE";
}

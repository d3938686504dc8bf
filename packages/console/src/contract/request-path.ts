/** The way of a request through the mesh, hop by hop. */
import type { ObjectName, Partially } from "./common.ts";

/** `GET /api/v1/topology/path`: what a request would meet. It is not sent: proxies' configuration is evaluated. */
export interface RequestPathQuery {
  /** The proxy that it leaves from, as `name.namespace`. */
  readonly from: string;
  /** Host of the request; the name in TLS for `https` and `tls`. */
  readonly host: string;
  /** 80 if absent; 443 for `https` and `tls`. */
  readonly port?: number;
  /** `http` if absent. With `https` and `tls` the workload itself speaks TLS. */
  readonly protocol?: RequestProtocol;
  /** `GET` if absent. */
  readonly method?: string;
  /** With its query; `/` if absent. */
  readonly path?: string;
  /** `name: value`, one a line. Those that carry tokens are refused: `claims` stand for them. */
  readonly headers?: string;
  /** Claims of a valid token, as a JSON object. */
  readonly claims?: string;
  /** IP address that the host stands for; by the proxy's name table if absent. */
  readonly address?: string;
}

export type RequestProtocol = "http" | "http2" | "https" | "tcp" | "tls";

export interface RequestPath extends Partially {
  readonly way: ProxyWay;
  /** Address to which the host was resolved; absent where it is known to no name table. */
  readonly address?: string;
}

/** The way through one proxy, and on from there. */
export interface ProxyWay {
  /** `name.namespace` */
  readonly proxy: string;
  readonly type: string;
  readonly hops: readonly PathHop[];
  readonly end: PathEnd;
  /** Clusters that it may go to, the largest share first; 10 at most. Empty where it ends here. */
  readonly destinations: readonly PathDestination[];
}

export interface PathHop {
  readonly kind: PathHopKind;
  readonly name: string;
  /** `unknown`: the configuration alone does not decide, such as what a Wasm module answers. */
  readonly verdict: "passes" | "stops" | "unknown";
  /** Sentences: matched conditions, and what happens to the request. */
  readonly facts: readonly string[];
  /** The resource of the proxy that it is, or is a part of. */
  readonly resource?: { readonly type: string; readonly name: string };
  /** Objects that decide here; ten at most. */
  readonly objects: readonly ObjectName[];
}

export type PathHopKind =
  | "listener"
  | "filter chain"
  | "authorization"
  | "token"
  | "filter"
  | "route configuration"
  | "virtual host"
  | "route"
  | "cluster"
  | "endpoints";

export interface PathEnd {
  /** `forwarded`: to a cluster or to the application; `answered`: by the proxy, as routes have it; `closed`: the connection. */
  readonly kind: "forwarded" | "answered" | "refused" | "closed";
  readonly status?: number;
  /** A sentence. */
  readonly reason: string;
  /** Names of the hops that may decide otherwise. */
  readonly unless: readonly string[];
}

export interface PathDestination {
  readonly cluster: string;
  /** Percent of the requests. */
  readonly share: number;
  readonly hops: readonly PathHop[];
  readonly end: PathEnd;
  /** 20 at most; `endpointCount` counts all. */
  readonly endpoints: readonly PathEndpoint[];
  readonly endpointCount: number;
  /** The way at the proxy of one of the endpoints; absent where there is none, for the reason in `unseen`. */
  readonly receiver?: ProxyWay;
  readonly unseen?: string;
}

export interface PathEndpoint {
  readonly address: string;
  readonly priority: number;
  readonly locality: string;
  readonly weight: number;
  readonly isHealthy: boolean;
  /** `name;namespace`, where it is known. */
  readonly workload: string;
  readonly transport: "plain text" | "TLS" | "mutual TLS" | "HBONE";
}

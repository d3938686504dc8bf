/** Steps of a call on its way through one proxy, and its end there. */

import type { JsonValue } from "@flotilla/proto";
import { at, textAt } from "./json.ts";

export type HopKind =
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

/** `unknown`: the configuration alone does not decide, such as what a Wasm module answers. */
export type Verdict = "passes" | "stops" | "unknown";

/** A resource of the proxy; `type` as `cds`. */
export interface ResourceName {
  readonly type: "lds" | "rds" | "cds" | "eds";
  readonly name: string;
}

/** A step. */
export interface Hop {
  readonly kind: HopKind;
  readonly name: string;
  readonly verdict: Verdict;
  /** Sentences: matched conditions, and what happens to the call. */
  readonly facts: readonly string[];
  /** The resource that it is, or is a part of. */
  readonly resource?: ResourceName;
  /** Objects that it names itself, as `Kind/namespace/name`. */
  readonly objects: readonly string[];
}

/** How a call ends at a proxy. */
export interface End {
  /** `forwarded`: to a cluster or to the application; `answered`: by the proxy, as routes have it; `closed`: the connection. */
  readonly kind: "forwarded" | "answered" | "refused" | "closed";
  readonly status?: number;
  /** A sentence. */
  readonly reason: string;
  /** Names the hops that may decide otherwise. */
  readonly unless: readonly string[];
}

/** The object that Istio's metadata of a route or a cluster names, as `VirtualService/shop/web`. */
export function metadataObjects(resource: JsonValue | undefined): readonly string[] {
  const config = textAt(at(resource, "metadata", "filterMetadata", "istio"), "config");
  const found = /\/namespaces\/([^/]+)\/([a-z-]+)\/([^/]+)$/.exec(config);
  if (found === null) return [];
  const [, namespace, kind = "", name] = found;
  const words = kind.split("-").map((word) => `${word.charAt(0).toUpperCase()}${word.slice(1)}`);
  return [`${words.join("")}/${namespace}/${name}`];
}

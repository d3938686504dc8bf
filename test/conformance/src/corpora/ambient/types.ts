/** The cases of corpus ambient, and the Go types in them. */
import type { KubeObject, Labels } from "@flotilla/model";
import type { JsonObject, JsonValue } from "@flotilla/proto";

export interface PolicyCase {
  readonly name: string;
  readonly input: string;
  readonly expected: { readonly authorization: string };
  readonly settings: { readonly rootNamespace: string };
}

export interface FunctionCase {
  readonly name: string;
  readonly function: string;
  // The arguments are of the case's function: each driver has their types.
  readonly args: readonly never[];
  readonly expected: { readonly returns: readonly unknown[] };
}

export interface BuildCase {
  readonly name: string;
  readonly operation: string;
  readonly context: readonly ContextObject[];
  readonly object: JsonObject;
  readonly objectType: string;
  readonly expected: { readonly returns: unknown };
}

/** Other objects that exist; `type` is a Go type. */
export interface ContextObject {
  readonly type: string;
  readonly value: never;
}

export interface GoServiceInfo {
  readonly LabelSelector?: { readonly Labels?: Labels };
  readonly PortNames?: Readonly<Record<string, { readonly PortName?: string; readonly TargetPortName?: string }>>;
  readonly Service: GoService;
  readonly Source?: { readonly Kind?: number };
}

export interface GoService {
  readonly name: string;
  readonly namespace: string;
  readonly hostname: string;
  readonly ports?: readonly { readonly servicePort: number; readonly targetPort?: number }[];
}

export interface GoWaypoint {
  readonly Address: {
    readonly hostname: { readonly namespace: string; readonly hostname: string };
    readonly hboneMtlsPort?: number;
  };
  readonly AllowedRoutes?: {
    readonly FromNamespaces: "All" | "Same" | "Selector" | "None";
    readonly Selector?: Labels;
  };
  readonly DefaultBinding?: { readonly Port?: number; readonly Protocol?: number };
  readonly Named: { readonly Name: string; readonly Namespace: string };
  readonly TrafficType: "service" | "workload" | "all" | "none";
}

export interface GoNode {
  readonly Name: string;
  readonly Locality: { readonly region?: string; readonly zone?: string };
}

/** Kinds of objects in Istio's list of schemas. */
export const goKinds = { serviceEntry: 40 } as const;

/** An Istio object as Go writes it: fields of its metadata and its spec under capital names. */
export function istioObject(kind: string, object: JsonObject, group = "networking.istio.io"): KubeObject {
  const {
    ObjectMeta = {},
    Spec = {},
    Status,
  } = object as {
    readonly ObjectMeta?: JsonObject;
    readonly Spec?: JsonValue;
    readonly Status?: JsonValue;
  };
  return {
    apiVersion: `${group}/v1`,
    kind,
    metadata: { name: "", namespace: "", ...ObjectMeta },
    spec: Spec,
    ...(Status === undefined ? {} : { status: Status }),
  } as unknown as KubeObject;
}

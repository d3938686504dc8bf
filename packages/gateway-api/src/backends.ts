/** Where a rule of a route sends traffic: references to Services, hosts, ServiceImports, InferencePools and XBackends, in Istio's words. */
import type { Config } from "@flotilla/model";
import { create } from "@flotilla/proto";
import { type Destination, DestinationSchema } from "@flotilla/proto/networking/v1alpha3/virtual_service_pb";
import type { Problem } from "./conditions.ts";
import type { ReferenceGrantSpec } from "./gateway-spec.ts";
import { isGranted, notGranted } from "./reference-grants.ts";
import type { BackendRef, ObjectRef } from "./route-spec.ts";

/** Lookups that references depend on besides themselves. */
export interface BackendLookups {
  readonly domain: string;
  /** True where the mesh has a service of this host name. */
  readonly hasService: (hostname: string) => boolean;
  readonly poolService?: (namespace: string, name: string) => PoolService;
  /** The host and port of an XBackend; undefined where there is none. */
  readonly externalBackend?: (namespace: string, name: string) => ExternalBackend | undefined;
}

/** The Service in front of an InferencePool (inference-pool.ts). */
export interface PoolService {
  readonly host: string;
  /** Undefined where it does not exist. */
  readonly port: number | undefined;
  /** Undefined where the Service does not name one. */
  readonly picker?: EndpointPicker | undefined;
}

/** Chooses the endpoint of a pool for each request, by Envoy's external processing. */
export interface EndpointPicker {
  readonly host: string;
  readonly port: number;
  /** Requests pass without it while it does not answer. */
  readonly failsOpen: boolean;
}

export interface ExternalBackend {
  readonly host: string;
  readonly port: number;
}

export interface RouteContext extends BackendLookups {
  readonly namespace: string;
  /** Of the route, with the ReferenceGrants of a namespace; undefined: references need none, as within the mesh. */
  readonly grants?: {
    readonly kind: string;
    readonly grantsIn: (namespace: string) => readonly Config<ReferenceGrantSpec>[];
  };
}

const targets = {
  Service: "",
  ServiceImport: "multicluster.x-k8s.io",
  Hostname: "networking.istio.io",
  InferencePool: "inference.networking.k8s.io",
  XBackend: "gateway.networking.x-k8s.io",
} as const;

type TargetKind = keyof typeof targets;

function targetOf({ group = "", kind = "Service" }: ObjectRef): TargetKind | undefined {
  return Object.hasOwn(targets, kind) && targets[kind as TargetKind] === group ? (kind as TargetKind) : undefined;
}

/** Why a reference cannot be followed at all; undefined when it can, if only to an error. */
export function backendProblem(ref: ObjectRef): Problem | undefined {
  const target = targetOf(ref);
  if (target === undefined || target === "XBackend") return undefined;
  if (target === "InferencePool") return poolNameProblem(ref);
  if (target === "Service" && ref.name?.includes(".")) return hostAsName;
  if (ref.port === undefined) return { reason: "InvalidDestination", message: "port is required in backendRef" };
  if (target === "Hostname" && ref.namespace !== undefined)
    return { reason: "InvalidDestination", message: "namespace may not be set with Hostname type" };
  return undefined;
}

const hostAsName: Problem = {
  reason: "InvalidDestination",
  message: "service name invalid; the name of the Service must be used, not the hostname.",
};

/** A pool has its ports itself, so that a reference to it needs none. */
function poolNameProblem({ name = "" }: ObjectRef): Problem | undefined {
  if (!name.includes(".")) return undefined;
  const message = "InferencePool.Name invalid; the name of the InferencePool must be used, not the hostname.";
  return { reason: "InvalidDestination", message };
}

export interface ResolvedBackend {
  /** Without a host: requests for it fail. */
  readonly destination: Destination;
  readonly problem?: Problem;
  readonly picker?: EndpointPicker;
}

export function resolveBackend(ref: ObjectRef, context: RouteContext): ResolvedBackend {
  const target = targetOf(ref);
  const { group = "", kind = "Service", name = "", port = 0 } = ref;
  if (target === undefined) {
    const message = `referencing unsupported backendRef: group "${group}" kind "${kind}"`;
    return failing({ reason: "InvalidKind", message });
  }
  if (target === "Hostname") return toHost(name, port, context);
  const denied = grantProblem(ref, context);
  if (denied !== undefined) return failing(denied);
  const namespace = ref.namespace ?? context.namespace;
  if (target === "InferencePool") return toPool(namespace, name, context);
  if (target === "XBackend") return toExternal(ref, context.externalBackend?.(namespace, name));
  return toHost(`${name}.${namespace}.svc.${context.domain}`, port, context);
}

function toHost(host: string, port: number, { hasService }: RouteContext): ResolvedBackend {
  const destination = create(DestinationSchema, { host, port: { number: port } });
  return hasService(host) ? { destination } : { destination, problem: notFound(host) };
}

/** The first port of the pool's Service stands for all of them, whatever the reference names. */
function toPool(namespace: string, name: string, { poolService }: RouteContext): ResolvedBackend {
  const { host = name, port, picker } = poolService?.(namespace, name) ?? {};
  if (port === undefined) return failing(notFound(host));
  const destination = create(DestinationSchema, { host, port: { number: port } });
  return picker === undefined ? { destination, problem: noPicker } : { destination, picker };
}

const noPicker: Problem = {
  reason: "InvalidDestination",
  message: "InferencePool service invalid, extensionRef labels not found",
};

function toExternal({ name = "", port }: ObjectRef, backend: ExternalBackend | undefined): ResolvedBackend {
  if (backend === undefined) return failing(notFound(name));
  if (port !== undefined && port !== backend.port) {
    const message = `backend(${name}) does not expose port ${port}, expected ${backend.port}`;
    return failing({ reason: "BackendNotFound", message });
  }
  return { destination: create(DestinationSchema, { host: backend.host, port: { number: backend.port } }) };
}

function failing(problem: Problem): ResolvedBackend {
  return { destination: create(DestinationSchema), problem };
}

function notFound(what: string): Problem {
  return { reason: "BackendNotFound", message: `backend(${what}) not found` };
}

function grantProblem(ref: ObjectRef, { namespace: home, grants }: RouteContext): Problem | undefined {
  if (grants === undefined) return undefined;
  const { group = "", kind = "Service", namespace = home, name = "" } = ref;
  const reference = { from: { kind: grants.kind, namespace: home }, to: { group, kind, namespace, name } };
  return isGranted(reference, grants.grantsIn) ? undefined : notGranted(`backendRef ${name}/${namespace}`, reference);
}

/** Those that get traffic; weights only where there are several. */
export function weighted(
  refs: readonly BackendRef[],
): readonly { readonly ref: BackendRef; readonly weight: number }[] {
  const used = refs.map((ref) => ({ ref, weight: ref.weight ?? 1 })).filter(({ weight }) => weight > 0);
  return used.length === 1 ? used.map(({ ref }) => ({ ref, weight: 0 })) : used;
}

/**
 * The services that read the objects of a kind. Queries of xds-server and the registry take their kinds from these types, so a query over
 * another kind compiles only once the kind stands here; objects that nothing reads are accepted with a warning.
 */

/** Services that make something of objects for proxies or for other objects. */
type KindReader = "xds-server" | "service-controller" | "config-controller" | "webhook";

/** The part of an object that decides whether it has an effect. */
export interface UsedObject {
  readonly labels?: Readonly<Record<string, string>> | undefined;
  readonly spec?: unknown;
}

/** The readers of a kind. */
export interface KindUse {
  readonly by: readonly KindReader[];
  /** Why some objects of the kind have no effect; undefined for those that have one. */
  readonly gap?: (object: UsedObject) => string | undefined;
}

/** Names as `Kind.name` has them. TrustBundle and IssuerKeys are no objects of an API: ca and config-controller publish them. */
export const kindUses = {
  AuthorizationPolicy: { by: ["xds-server"] },
  BackendTLSPolicy: { by: ["xds-server"] },
  ConfigMap: { by: ["xds-server", "config-controller"] },
  DestinationRule: { by: ["xds-server"] },
  EndpointSlice: { by: ["service-controller"] },
  Endpoints: { by: ["service-controller"] },
  EnvoyFilter: { by: ["xds-server"] },
  GRPCRoute: { by: ["xds-server"], gap: parentGap },
  Gateway: { by: ["xds-server"] },
  GatewayClass: { by: ["xds-server"] },
  HTTPRoute: { by: ["xds-server"], gap: parentGap },
  InferencePool: { by: ["config-controller"] },
  Ingress: { by: ["xds-server", "config-controller"] },
  IngressClass: { by: ["xds-server", "config-controller"] },
  IssuerKeys: { by: ["xds-server"] },
  KubernetesGateway: { by: ["xds-server"] },
  ListenerSet: { by: ["xds-server"] },
  MeshConfig: { by: ["xds-server", "service-controller"] },
  MeshNetworks: { by: ["xds-server", "service-controller"] },
  Namespace: { by: ["xds-server", "config-controller", "service-controller"] },
  Node: { by: ["service-controller"] },
  PeerAuthentication: { by: ["xds-server"] },
  Pod: { by: ["service-controller"] },
  ProxyConfig: { by: ["webhook", "config-controller"] },
  ReferenceGrant: { by: ["xds-server"] },
  RequestAuthentication: { by: ["xds-server"] },
  Secret: { by: ["xds-server"] },
  Service: { by: ["service-controller"] },
  ServiceAccount: { by: ["config-controller"] },
  ServiceEntry: { by: ["xds-server", "service-controller"] },
  ServiceExport: { by: ["service-controller"] },
  ServiceImport: { by: ["service-controller"] },
  Sidecar: { by: ["xds-server"] },
  TCPRoute: { by: ["xds-server"], gap: parentGap },
  TLSRoute: { by: ["xds-server"], gap: parentGap },
  Telemetry: { by: ["xds-server"] },
  TrafficExtension: { by: ["xds-server"] },
  TrustBundle: { by: ["xds-server"] },
  UDPRoute: { by: ["xds-server"], gap: udpParentGap },
  VirtualService: { by: ["xds-server"] },
  WasmPlugin: { by: ["xds-server"] },
  WorkloadEntry: { by: ["service-controller"] },
  WorkloadGroup: { by: ["service-controller"] },
  XBackend: { by: ["xds-server", "service-controller"] },
  XBackendTrafficPolicy: { by: ["xds-server"] },
} as const satisfies Readonly<Record<string, KindUse>>;

type Uses = typeof kindUses;
/** The kinds that a service may read. */
export type KindReadBy<Reader extends KindReader> = {
  [Name in keyof Uses]: Reader extends Uses[Name]["by"][number] ? Name : never;
}[keyof Uses];

const usesByName: ReadonlyMap<string, KindUse> = new Map(Object.entries(kindUses));

/** True where the service makes something of objects of the kind. */
export function isKindReadBy(reader: KindReader, kind: string): boolean {
  return usesByName.get(kind)?.by.includes(reader) === true;
}

/** Why an object changes nothing in the mesh, as a sentence about it without its name; undefined when it has an effect. */
export function noEffectReason(kindName: string, object: UsedObject): string | undefined {
  const use = usesByName.get(kindName);
  if (use === undefined) return "has no effect: nothing is generated from objects of this kind yet";
  const gap = use.gap?.(object);
  return gap === undefined ? undefined : `has no effect: it ${gap}`;
}

/** True where some service reads objects of the kind. */
export function isReadKind(kindName: string): boolean {
  return usesByName.has(kindName);
}

interface GatewayApiSpec {
  readonly parentRefs?: readonly { readonly kind?: string }[];
}

/** Kinds that a route may attach to. */
const parentKinds: ReadonlySet<string> = new Set(["Gateway", "ListenerSet", "Service", "ServiceEntry"]);

function parentGap({ spec }: UsedObject): string | undefined {
  const parents = (spec as GatewayApiSpec | undefined)?.parentRefs ?? [];
  if (parents.some(({ kind = "Gateway" }) => parentKinds.has(kind))) return undefined;
  return "has no Gateway, ListenerSet, Service or ServiceEntry among its parentRefs";
}

/** Datagrams of the mesh pass its proxies by. */
function udpParentGap({ spec }: UsedObject): string | undefined {
  const parents = (spec as GatewayApiSpec | undefined)?.parentRefs ?? [];
  const isForGateway = parents.some(({ kind = "Gateway" }) => kind === "Gateway" || kind === "ListenerSet");
  return isForGateway ? undefined : "has no Gateway or ListenerSet among its parentRefs";
}

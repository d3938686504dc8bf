/** Where a rule of a route sends traffic: references to Services, hosts and ServiceImports, in Istio's words. */
import { create } from "@flotilla/proto";
import { type Destination, DestinationSchema } from "@flotilla/proto/networking/v1alpha3/virtual_service_pb";
import type { BackendRef, ObjectRef } from "./route-spec.ts";

/** What a reference depends on besides itself. */
export interface RouteContext {
  readonly namespace: string;
  readonly domain: string;
  /** Whether the mesh has a service of this host name. */
  readonly hasService: (hostname: string) => boolean;
}

const istioGroup = "networking.istio.io";
const multiClusterGroup = "multicluster.x-k8s.io";

type Target = "service" | "host" | "unknown";

function targetOf({ group = "", kind = "Service" }: ObjectRef): Target {
  if (group === "" && kind === "Service") return "service";
  if (group === multiClusterGroup && kind === "ServiceImport") return "service";
  return group === istioGroup && kind === "Hostname" ? "host" : "unknown";
}

/** Why a reference cannot be followed at all; undefined when it can, if only to an error. */
export function backendProblem(ref: ObjectRef): string | undefined {
  const target = targetOf(ref);
  if (target === "unknown") return undefined;
  if (ref.port === undefined) return `backendRef ${ref.name ?? ""} has no port`;
  if (target === "host" && ref.namespace !== undefined)
    return `backendRef ${ref.name ?? ""} is a Hostname, which has no namespace`;
  return undefined;
}

/** A kind that is not known has no host: requests for it fail. */
export function destinationOf(ref: ObjectRef, { namespace, domain }: RouteContext): Destination {
  const target = targetOf(ref);
  const { name = "", port = 0 } = ref;
  if (target === "unknown") return create(DestinationSchema);
  const host = target === "host" ? name : `${name}.${ref.namespace ?? namespace}.svc.${domain}`;
  return create(DestinationSchema, { host, port: { number: port } });
}

/** Those that get traffic; weights only where there are several. */
export function weighted(
  refs: readonly BackendRef[],
): readonly { readonly ref: BackendRef; readonly weight: number }[] {
  const used = refs.map((ref) => ({ ref, weight: ref.weight ?? 1 })).filter(({ weight }) => weight > 0);
  return used.length === 1 ? used.map(({ ref }) => ({ ref, weight: 0 })) : used;
}

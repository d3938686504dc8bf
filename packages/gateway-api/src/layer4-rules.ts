/** Rules of TCPRoutes, UDPRoutes and TLSRoutes as routes of a VirtualService for some hosts. */
import { hostCovers } from "@flotilla/model";
import { create, type MessageInitShape } from "@flotilla/proto";
import {
  RouteDestinationSchema,
  type TCPRoute,
  TCPRouteSchema,
  type TLSRoute,
  TLSRouteSchema,
} from "@flotilla/proto/networking/v1alpha3/virtual_service_pb";
import { type RouteContext, resolveBackend, weighted } from "./backends.ts";
import type { BackendRef, Layer4RouteSpec } from "./route-spec.ts";

/** `port` of the parent, 0 for all of its ports. */
export function tcpRoutes({ rules = [] }: Layer4RouteSpec, port: number, context: RouteContext): readonly TCPRoute[] {
  return rules.map(({ backendRefs = [] }) =>
    create(TCPRouteSchema, {
      match: port === 0 ? [] : [{ port }],
      route: layer4Destinations(backendRefs, context),
    }),
  );
}

/** `place`: where the route is attached; the hosts of a listener are the server names that it and the route have in common. */
export function tlsRoutes(
  { rules = [], hostnames = [] }: Layer4RouteSpec,
  place: { readonly hosts: readonly string[]; readonly port: number; readonly isMesh: boolean },
  context: RouteContext,
): readonly TLSRoute[] {
  const { hosts, port, isMesh } = place;
  const sniHosts = isMesh ? serverNames(hostnames, hosts) : [...hosts];
  return rules.map(({ backendRefs = [] }) =>
    create(TLSRouteSchema, { match: [{ sniHosts, port }], route: layer4Destinations(backendRefs, context) }),
  );
}

/** Of several names those count that are one of the hosts'; one alone counts in any case. As istiod has it. */
function serverNames(hostnames: readonly string[], hosts: readonly string[]): string[] {
  if (hostnames.length === 0) return [...hosts];
  if (hostnames.length === 1) return [...hostnames];
  return hostnames.filter((name) => hosts.some((host) => hostCovers(host, name)));
}

/** Without a backend that gets traffic, connections go to a cluster that does not exist. */
function layer4Destinations(
  refs: readonly BackendRef[],
  context: RouteContext,
): MessageInitShape<typeof RouteDestinationSchema>[] {
  const used = weighted(refs).map(({ ref, weight }) =>
    create(RouteDestinationSchema, { destination: resolveBackend(ref, context).destination, weight }),
  );
  return used.length > 0 ? used : [create(RouteDestinationSchema, { destination: nowhere })];
}

const nowhere = { host: "internal.cluster.local", subset: "zero-weight", port: { number: 65535 } };

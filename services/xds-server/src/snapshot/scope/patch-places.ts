/**
 * Places that a patch of an EnvoyFilter may change, as texts that name a part of the configuration: "cluster of service H", "listeners of
 * port P", or all clusters. A patch stands in the narrowest place that holds all it may match; a resource asks the places that it is in.
 */
import { parseClusterName, parseSniName } from "@flotilla/model";
import {
  EnvoyFilter_ApplyTo as ApplyTo,
  type EnvoyFilter,
  type EnvoyFilter_EnvoyConfigObjectPatch as ObjectPatch,
  EnvoyFilter_Patch_Operation as Operation,
} from "@flotilla/proto/networking/v1alpha3/envoy_filter_pb";

/** `KIND` or `KIND=VALUE`. */
export type PatchPlace = string;

/** All places that the patches of an object stand in. Patches that add clusters and listeners have none. */
export function patchPlaces({ configPatches }: EnvoyFilter): readonly PatchPlace[] {
  return [...new Set(configPatches.flatMap(placesOf))];
}

export function kindOfPlace(place: PatchPlace): string {
  const [kind = ""] = place.split("=", 1);
  return kind;
}

function placesOf(one: ObjectPatch): readonly PatchPlace[] {
  const isAdded = one.patch?.operation === Operation.ADD;
  switch (one.applyTo) {
    case ApplyTo.CLUSTER:
      return isAdded ? [] : [clusterPlace(one)];
    case ApplyTo.LISTENER:
      return isAdded ? [] : listenerPlaces(one);
    case ApplyTo.LISTENER_FILTER:
    case ApplyTo.FILTER_CHAIN:
    case ApplyTo.NETWORK_FILTER:
    case ApplyTo.HTTP_FILTER:
      return listenerPlaces(one);
    case ApplyTo.ROUTE_CONFIGURATION:
    case ApplyTo.VIRTUAL_HOST:
    case ApplyTo.HTTP_ROUTE:
      return [routesPlace(one), "inline routes"];
    default:
      return [];
  }
}

function clusterPlace({ match }: ObjectPatch): PatchPlace {
  if (match?.objectTypes.case !== "cluster") return "clusters";
  const { name, service, subset, portNumber } = match.objectTypes.value;
  if (name !== "") return `cluster=${name}`;
  if (service !== "") return `clusters of service=${service}`;
  if (subset !== "") return `clusters of subset=${subset}`;
  return portNumber === 0 ? "clusters" : `clusters of port=${portNumber}`;
}

/** @param hosts of the services behind an inbound cluster, whose name has none */
export function placesOfCluster(name: string, hosts: readonly string[]): readonly PatchPlace[] {
  const { direction = "", subset = "", hostname = "", port = 0 } = parseClusterName(name) ?? parseSniName(name) ?? {};
  const meant = direction === "inbound" ? hosts : [hostname];
  return [
    "clusters",
    `cluster=${name}`,
    ...meant.map((host) => `clusters of service=${host}`),
    `clusters of subset=${subset}`,
    `clusters of port=${port}`,
  ];
}

function listenerPlaces({ match }: ObjectPatch): readonly PatchPlace[] {
  if (match?.objectTypes.case !== "listener") return ["listeners"];
  const { name, portNumber } = match.objectTypes.value;
  if (name !== "") return [`listener=${name}`];
  return portNumber === 0 ? ["listeners"] : [`listeners of port=${portNumber}`, "listeners of any port"];
}

/**
 * @param port undefined where its name has none: patches ask for ports of such a listener by what its chains match
 * @param hasRoutes whether route configurations stand inside of it
 */
export function placesOfListener(name: string, port: number | undefined, hasRoutes: boolean): readonly PatchPlace[] {
  const ofPort = port === undefined ? "listeners of any port" : `listeners of port=${port}`;
  return ["listeners", `listener=${name}`, ofPort, ...(hasRoutes ? ["inline routes"] : [])];
}

function routesPlace({ match }: ObjectPatch): PatchPlace {
  if (match?.objectTypes.case !== "routeConfiguration") return "routes";
  const { name, portNumber } = match.objectTypes.value;
  if (name !== "") return `routes=${name}`;
  return portNumber === 0 ? "routes" : `routes of port=${portNumber}`;
}

export function placesOfRoutes(name: string, ports: readonly number[]): readonly PatchPlace[] {
  return ["routes", `routes=${name}`, ...ports.map((port) => `routes of port=${port}`)];
}

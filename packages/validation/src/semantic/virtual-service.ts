/** VirtualServices: hosts, gateways, and the routes of each protocol. If Envoy refuses one route, it refuses all. */
import { isIpAddress } from "@flotilla/model";
import type { Problem } from "../problem.ts";
import { httpRouteProblems } from "./http-route.ts";
import { routeProblems } from "./shared/destination.ts";
import {
  type Field,
  field,
  isSet,
  items,
  numberOf,
  refuseIf,
  repeated,
  textOf,
  texts,
  warnIf,
} from "./shared/field.ts";
import { isConverted, type ObjectMetadata } from "./shared/metadata.ts";
import {
  coveringWildcard,
  exportToProblems,
  gatewayNameProblems,
  labelsProblems,
  quoted,
  wildcardHostReason,
  wildcardsOf,
} from "./shared/names.ts";
import { portProblems, rangeProblems } from "./shared/values.ts";
import { unreachableProblems } from "./unreachable-routes.ts";

const layers = ["http", "tls", "tcp"];

export function validateVirtualService(spec: Field, metadata: ObjectMetadata): readonly Problem[] {
  const hosts = texts(spec, "hosts");
  const gateways = texts(spec, "gateways").map(({ value }) => value);
  const names = hosts.map(({ value }) => value);
  const scope = {
    hosts: new Set(names),
    wildcards: wildcardsOf(names),
    isDelegate: hosts.length === 0,
    isForGateways: gateways.length > 0 && !gateways.includes("mesh"),
    converted: isConverted(metadata, "route"),
  };
  const hasRoutes = layers.some((name) => items(spec, name).length > 0);
  return [
    ...(scope.isDelegate ? delegateProblems(spec) : []),
    ...gatewayNameProblems(spec, scope.converted),
    ...hostListProblems(spec, scope.isForGateways),
    ...refuseIf(!hasRoutes, spec, "needs http, tls or tcp"),
    ...items(spec, "http").flatMap((route) => httpRouteProblems(route, scope)),
    ...items(spec, "tls").flatMap((route) => tlsRouteProblems(route, scope)),
    ...items(spec, "tcp").flatMap((route) => [
      ...items(route, "match").flatMap(connectionMatchProblems),
      ...refuseIf(items(route, "route").length === 0, field(route, "route"), "a destination is required"),
      ...routeProblems(route, scope.converted),
    ]),
    ...exportToProblems(spec, metadata.namespace),
    ...layers.flatMap((name) => unreachableProblems(items(spec, name))),
  ];
}

/** Where a VirtualService counts, and whether another hands requests on to it. */
interface RouteScope {
  readonly hosts: ReadonlySet<string>;
  readonly wildcards: ReturnType<typeof wildcardsOf>;
  readonly isDelegate: boolean;
  readonly isForGateways: boolean;
  readonly converted: boolean;
}

/** One without hosts is a delegate: HTTP routes only, for requests that another VirtualService hands on. */
function delegateProblems(spec: Field): readonly Problem[] {
  return ["gateways", "tls", "tcp"].flatMap((name) =>
    refuseIf(items(spec, name).length > 0, field(spec, name), "must not be set without hosts"),
  );
}

function hostListProblems(spec: Field, isForGateways: boolean): readonly Problem[] {
  const hosts = texts(spec, "hosts");
  const hasSni = items(spec, "tls").some((route) =>
    items(route, "match").some((match) => texts(match, "sniHosts").length > 0),
  );
  const wrong = hosts.flatMap((host) => hostProblems(host, isForGateways, hasSni));
  if (wrong.length > 0) return wrong;
  const wildcards = wildcardsOf(hosts.map(({ value }) => value));
  return [
    ...repeated(hosts, textOf).flatMap((host) => refuseIf(true, host, `${quoted(textOf(host))} stands twice`)),
    ...hosts.flatMap((host) => {
      const wider = coveringWildcard(wildcards, host.value);
      return refuseIf(wider !== undefined, host, `${quoted(host.value)} is covered by ${quoted(wider ?? "")} already`);
    }),
  ];
}

function hostProblems(host: Field, isForGateways: boolean, hasSni: boolean): readonly Problem[] {
  const text = textOf(host);
  if (isIpAddress(text) || (isForGateways && hasSni && text.startsWith("outbound_"))) return sniNameProblems(host);
  const reason = wildcardHostReason(text);
  return [
    ...refuseIf(reason !== undefined, host, reason ?? ""),
    ...refuseIf(text === "*" && !isForGateways, host, "* is for gateways only, the mesh has other hosts"),
  ];
}

/** Names by which gateways between networks pass connections on. */
function sniNameProblems(host: Field): readonly Problem[] {
  const text = textOf(host);
  const isName = !text.startsWith("outbound_") || /^outbound_\.?\d[^_]*_[^_]*_\.?[^_]*[a-zA-Z]/.test(text);
  return refuseIf(!isName, host, `${quoted(text)} is not of the form outbound_.PORT_.SUBSET_.HOST`);
}

function tlsRouteProblems(route: Field, scope: RouteScope): readonly Problem[] {
  const matches = items(route, "match");
  return [
    ...refuseIf(matches.length === 0, field(route, "match"), "a TLS route has at least one match"),
    ...matches.flatMap((match) => [
      ...refuseIf(
        texts(match, "sniHosts").length === 0,
        field(match, "sniHosts"),
        "a match of TLS has at least one server name",
      ),
      ...texts(match, "sniHosts").flatMap((host) => serverNameProblems(host, scope)),
      ...connectionMatchProblems(match),
    ]),
    ...refuseIf(items(route, "route").length === 0, field(route, "route"), "a destination is required"),
    ...routeProblems(route, scope.converted),
  ];
}

function serverNameProblems(host: Field, scope: RouteScope): readonly Problem[] {
  const text = textOf(host);
  if (isIpAddress(text)) return warnIf(true, host, "is an IP address, which clients send no server name for");
  const wrong = hostProblems(host, scope.isForGateways || text === "*", true);
  if (wrong.length > 0) return wrong;
  const isCovered = scope.hosts.has(text) || coveringWildcard(scope.wildcards, text) !== undefined;
  return refuseIf(!isCovered, host, `${quoted(text)} is none of the VirtualService's hosts, nor covered by one`);
}

/** Fields that matches of TLS and TCP share. */
function connectionMatchProblems(match: Field): readonly Problem[] {
  const port = field(match, "port");
  return [
    ...texts(match, "destinationSubnets").flatMap(rangeProblems),
    ...(isSet(port) && numberOf(port) !== 0 ? portProblems(port) : []),
    ...labelsProblems(match, "sourceLabels"),
    ...gatewayNameProblems(match),
  ];
}

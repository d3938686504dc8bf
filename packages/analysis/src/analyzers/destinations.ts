/** Destinations of routes: hosts, ports and subsets that are not there. */
import { nearestName } from "@flotilla/model";
import { type Field, field, fieldAt, isSet, items, numberOf, textOf, texts } from "@flotilla/validation/field";
import type { Analyzer, Index, Mesh } from "../analyzer.ts";
import { type Finding, finding, oncePerText } from "../finding.ts";
import { fullName, type MeshObject } from "../mesh-object.ts";
import { type Destination, destinationsOf } from "../shared/destinations.ts";
import { hostSuggestion, portsOf, serviceIndexes, serviceOf, suggestion } from "../shared/hosts.ts";

/** The counterpart of istioctl's virtualservice.DestinationHostAnalyzer. */
export const routeDestinations: Analyzer = {
  name: "route-destinations",
  summary: "routes to hosts and ports that are not there",
  messages: ["ReferencedResourceNotFound", "DestinationPortRequired"],
  checks: ["VirtualService"],
  reads: ["Service", "ServiceEntry"],
  indexes: serviceIndexes,
  check: (service, mesh) => destinationsOf(service.spec).flatMap((one) => destinationFindings(service, one, mesh)),
};

function destinationFindings(route: MeshObject, { at, isMirror }: Destination, mesh: Mesh): readonly Finding[] {
  const hostAt = field(at, "host");
  const host = textOf(hostAt);
  const exportTo = texts(route.spec, "exportTo").map(({ value }) => value);
  const question = { host, namespace: route.key.namespace, exportTo };
  const service = serviceOf(mesh, question);
  if (service === undefined) {
    const what = isMirror ? "host of mirrored requests" : "host";
    return [
      finding("ReferencedResourceNotFound", route, hostAt, {
        what,
        name: host,
        suggestion: hostSuggestion(mesh, question),
      }),
    ];
  }
  const ports = portsOf(service);
  const portAt = field(at, "port");
  if (!isSet(portAt))
    return ports.length < 2
      ? []
      : [finding("DestinationPortRequired", route, hostAt, { host, ports: ports.join(", ") })];
  const number = field(portAt, "number");
  if (ports.includes(numberOf(number))) return [];
  const known = ports.length === 0 ? ": it has no ports" : `: it has ${ports.join(", ")}`;
  return [
    finding("ReferencedResourceNotFound", route, number, {
      what: "port",
      name: `${host}:${numberOf(number)}`,
      suggestion: known,
    }),
  ];
}

/** DestinationRules by the full host and the name of each subset. */
const rulesBySubset: Index = {
  name: "DestinationRules by subset",
  kinds: ["DestinationRule"],
  keysOf: ({ key, spec }) => {
    const host = hostName(textOf(field(spec, "host")), key.namespace);
    return [host, ...items(spec, "subsets").map((subset) => `${host} ${textOf(field(subset, "name"))}`)];
  },
};

/** Names of the cluster's services in full; hosts of others differ by the namespace of who names them. */
function hostName(host: string, namespace: string): string {
  const domain = ".svc.cluster.local";
  return host.endsWith(domain) ? host : `${host}.${namespace}${domain}`;
}

/** The counterpart of istioctl's virtualservice.DestinationRuleAnalyzer. */
export const routeSubsets: Analyzer = {
  name: "route-subsets",
  summary: "routes to subsets that no DestinationRule has",
  messages: ["ReferencedResourceNotFound"],
  checks: ["VirtualService"],
  reads: ["DestinationRule"],
  indexes: [rulesBySubset],
  check: (route, mesh) => destinationsOf(route.spec).flatMap((one) => subsetFindings(route, one.at, mesh)),
};

function subsetFindings(route: MeshObject, destination: Field, mesh: Mesh): readonly Finding[] {
  const at = field(destination, "subset");
  const [host, subset] = [textOf(field(destination, "host")), textOf(at)];
  const name = hostName(host, route.key.namespace);
  if (subset === "" || mesh.row(rulesBySubset, `${name} ${subset}`).length > 0) return [];
  const known = mesh
    .row(rulesBySubset, name)
    .flatMap(({ spec }) => items(spec, "subsets").map((one) => textOf(field(one, "name"))));
  const values = {
    what: "subset",
    name: `${subset} of host ${host}`,
    suggestion: suggestion(nearestName(subset, known)),
  };
  return [finding("ReferencedResourceNotFound", route, at, values)];
}

/** VirtualServices by the hosts of their own for which they choose subsets. */
const routesBySubsetHost: Index = {
  name: "VirtualServices that choose subsets of their host",
  kinds: ["VirtualService"],
  keysOf: ({ spec }) => {
    const own = new Set(texts(spec, "hosts").map(({ value }) => value));
    return [
      ...new Set(
        httpDestinations(spec)
          .filter((one) => textOf(field(one, "subset")) !== "")
          .map((one) => textOf(field(one, "host"))),
      ),
    ].filter((host) => own.has(host));
  },
};

function httpDestinations(spec: Field): readonly Field[] {
  return items(spec, "http").flatMap((route) => items(route, "route").map((one) => fieldAt(one, "destination")));
}

/** The counterpart of istioctl's virtualservice.DestinationHostAnalyzer. */
export const gatewaySubsets: Analyzer = {
  name: "gateway-subsets",
  summary: "routes of gateways past the subsets that the mesh chooses",
  messages: ["IngressRouteRulesNotAffected"],
  checks: ["VirtualService"],
  reads: [],
  indexes: [routesBySubsetHost],
  check: (route, mesh) => {
    if (texts(route.spec, "gateways").length === 0) return [];
    return oncePerText(
      httpDestinations(route.spec)
        .filter((one) => textOf(field(one, "subset")) === "")
        .flatMap((one) => {
          const at = field(one, "host");
          return mesh
            .row(routesBySubsetHost, textOf(at))
            .map(({ key }) =>
              finding("IngressRouteRulesNotAffected", route, at, { virtualService: fullName(key), host: textOf(at) }),
            );
        }),
    );
  },
};

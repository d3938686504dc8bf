/** Tables of what a proxy gets, with the columns of `istioctl proxy-config`. */
import { parseClusterName } from "@flotilla/model";
import { type DumpedResource, type Fields, listAt, type Part, textAt, valueAt } from "./dump.ts";

export interface Table {
  readonly heads: readonly string[];
  readonly rows: (resource: DumpedResource) => readonly (readonly string[])[];
}

export const tables: Readonly<Record<Part, Table>> = {
  clusters: {
    heads: ["SERVICE FQDN", "PORT", "SUBSET", "DIRECTION", "TYPE", "DESTINATION RULE"],
    rows: ({ name, json }) => {
      const { hostname = "", port = 0, subset = "", direction = "" } = parseClusterName(name) ?? {};
      const type = textAt(json, "clusterType.name") || textAt(json, "type") || "STATIC";
      return [[hostname || name, orDash(port), orDash(subset), orDash(direction), type, objectOf(json)]];
    },
  },
  listeners: {
    heads: ["ADDRESSES", "PORT", "MATCH", "DESTINATION"],
    rows: ({ json }) => {
      const own = valueAt(json, "address.socketAddress");
      const more = listAt(json, "additionalAddresses").map((one) => textAt(one, "address.socketAddress.address"));
      const addresses = [textAt(own, "address"), ...more].filter((address) => address !== "").join(",");
      const isDefault = valueAt(json, "defaultFilterChain");
      const chains = [...listAt(json, "filterChains"), ...(isDefault === undefined ? [] : [isDefault as Fields])];
      const rows = chains.map((chain) => [addresses, textAt(own, "portValue"), matchOf(chain), destinationOf(chain)]);
      return rows.filter((row, i) => rows.findIndex((other) => other.join() === row.join()) === i);
    },
  },
  routes: {
    heads: ["NAME", "VHOST NAME", "DOMAINS", "MATCH", "VIRTUAL SERVICE"],
    rows: ({ name, json }) =>
      listAt(json, "virtualHosts").flatMap((host) =>
        listAt(host, "routes").map((route) => [
          name,
          textAt(host, "name"),
          domainsOf(host),
          pathOf(route),
          objectOf(route),
        ]),
      ),
  },
  endpoints: {
    heads: ["ENDPOINT", "STATUS", "LOCALITY", "CLUSTER"],
    rows: ({ name, json }) =>
      listAt(json, "endpoints").flatMap((locality) => {
        const place = ["region", "zone", "subZone"].map((part) => textAt(locality, `locality.${part}`));
        return listAt(locality, "lbEndpoints").map((endpoint) => [
          addressOf(endpoint),
          textAt(endpoint, "healthStatus") || "HEALTHY",
          orDash(place.filter((part) => part !== "").join("/")),
          name,
        ]);
      }),
  },
  secrets: {
    heads: ["RESOURCE NAME", "TYPE"],
    rows: ({ name, json }) => [[name, valueAt(json, "validationContext") === undefined ? "Cert Chain" : "CA"]],
  },
};

function orDash(value: string | number): string {
  return value === "" || value === 0 ? "-" : String(value);
}

/** The object that the metadata names, `name.namespace`. */
function objectOf(json: Fields): string {
  const config = textAt(valueAt(json, "metadata.filterMetadata.istio"), "config");
  const [, namespace, name] = /\/namespaces\/([^/]+)\/[^/]+\/([^/]+)$/.exec(config) ?? [];
  return name === undefined ? "" : `${name}.${namespace}`;
}

function matchOf(chain: Fields): string {
  const match = valueAt(chain, "filterChainMatch");
  const texts = (path: string) => {
    const found = valueAt(match, path);
    return Array.isArray(found) ? found.map(String).join(",") : "";
  };
  const ranges = listAt(match, "prefixRanges").map(
    (one) => `${textAt(one, "addressPrefix")}/${textAt(one, "prefixLen") || "0"}`,
  );
  const port = textAt(match, "destinationPort");
  const protocols = texts("applicationProtocols");
  const found = [
    ["Trans", textAt(match, "transportProtocol")],
    ["SNI", texts("serverNames")],
    ["App", protocols],
    ["Addr", ranges.length > 0 || port !== "" ? `${ranges.join(",") || "*"}${port === "" ? "" : `:${port}`}` : ""],
  ].flatMap(([label, value]) => (value === "" ? [] : [`${label}: ${value}`]));
  return found.join("; ") || "ALL";
}

function destinationOf(chain: Fields): string {
  for (const filter of listAt(chain, "filters")) {
    const config = valueAt(filter, "typedConfig");
    const route = textAt(config, "rds.routeConfigName");
    if (route !== "") return `Route: ${route}`;
    if (valueAt(config, "scopedRoutes") !== undefined) return `Scoped routes: ${textAt(config, "scopedRoutes.name")}`;
    const inline = valueAt(config, "routeConfig");
    if (inline !== undefined) return `Inline Route: ${textAt(inline, "name")}`;
    const cluster = textAt(config, "cluster");
    if (cluster !== "") return `Cluster: ${cluster}`;
    const weighted = listAt(config, "weightedClusters.clusters").map((one) => textAt(one, "name"));
    if (weighted.length > 0) return `Clusters: ${weighted.join(",")}`;
  }
  return "Non-HTTP/Non-TCP";
}

/** The first value and the number of the others, as istioctl shows them. */
function domainsOf(host: Fields): string {
  const domains = valueAt(host, "domains");
  const [first = "", ...others] = Array.isArray(domains) ? domains.map(String) : [];
  return others.length === 0 ? first : `${first} + ${others.length} more...`;
}

function pathOf(route: Fields): string {
  const match = valueAt(route, "match");
  const prefix = textAt(match, "prefix") || textAt(match, "pathSeparatedPrefix");
  if (prefix !== "") return `${prefix}*`;
  const regex = textAt(match, "safeRegex.regex");
  return textAt(match, "path") || (regex === "" ? "/*" : `regex ${regex}`);
}

function addressOf(endpoint: Fields): string {
  const socket = valueAt(endpoint, "endpoint.address.socketAddress");
  if (socket !== undefined) return `${textAt(socket, "address")}:${textAt(socket, "portValue")}`;
  const pipe = textAt(endpoint, "endpoint.address.pipe.path");
  return pipe === "" ? textAt(endpoint, "endpoint.address.envoyInternalAddress.serverListenerName") : `unix://${pipe}`;
}

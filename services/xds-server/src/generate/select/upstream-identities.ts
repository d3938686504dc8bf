/** What decides about the mesh's own TLS towards a service. */
import { type Service, type TextOf, textCodec } from "@flotilla/model";
import { type ServiceText, serviceText } from "../../snapshot/row-index.ts";
import { namespaceMode } from "../../snapshot/scope/authn.ts";
import { servicesOfName } from "../../snapshot/scope/services.ts";
import { query, type View } from "../../snapshot/view.ts";
import { isPassthrough } from "../envoy/clusters/load-balancer.ts";
import type { ClusterTarget } from "./cluster-target.ts";

/**
 * Automatic mutual TLS, where no rule says otherwise. With the caller's original destination the choice cannot be made by
 * endpoint: all of them have to take it. So it is for headless services even when their endpoints are known.
 */
export function automaticTlsMode(
  view: View,
  { service, port, rule, subset }: ClusterTarget,
  isOriginalDestination: boolean,
): "none" | "every-endpoint" | "by-endpoint" {
  if (view.mesh.enableAutoMtls === false || service.meshExternal) return "none";
  if (namespaceMode(view, service.namespace) === "DISABLE") return "none";
  // As in istiod, a subset asks whether all endpoints take it where its own policy is PASSTHROUGH, not where the rule's is.
  const stated = subset === "" ? rule?.spec : rule?.spec.subsets.find(({ name }) => name === subset);
  const asksAll = isPassthrough(stated?.trafficPolicy?.loadBalancer);
  const isWhole = service.resolution === "passthrough" || asksAll;
  if (
    isWhole &&
    !view.read(
      everyEndpointTakesTls,
      portText.write({ namespace: service.namespace, hostname: service.hostname, port: port.name }),
    )
  )
    return "none";
  return isOriginalDestination ? "every-endpoint" : "by-endpoint";
}

const portText = textCodec("ServicePort", "/", ["namespace", "hostname", "port"]);

const everyEndpointTakesTls = query<boolean, TextOf<typeof portText>>("every-endpoint-takes-tls", (view, text) => {
  const service = portText.read(text);
  const endpoints = [...view.endpoints(service).values()]
    .flat()
    .filter(({ servicePortName }) => servicePortName === service.port);
  return endpoints.length > 0 && endpoints.every(({ tlsMode }) => tlsMode === "istio");
});

/** Who may stand behind a service: what it declares and the identities of its endpoints. */
export function upstreamIdentities(view: View, service: Service): readonly string[] {
  const found = view.read(endpointIdentities, serviceText.write(service));
  // Of several ServiceEntries for a host the youngest speaks for all. Source: scenario serviceentry/sans-and-overlap.
  const youngest = view
    .read(servicesOfName, serviceText.write(service))
    .reduce((latest, other) => (other.creationTimeMs >= latest.creationTimeMs ? other : latest), service);
  const { trustDomain, trustDomainAliases } = view.mesh;
  const identities = inTrustDomains([...youngest.serviceAccounts, ...found], [trustDomain, ...trustDomainAliases]);
  return [...new Set(identities)].sort();
}

/** Most changes of endpoints leave these as they are, and with them the cluster. */
const endpointIdentities = query<readonly string[], ServiceText>("endpoint-identities", (view, text) => {
  const endpoints = [...view.endpoints(serviceText.read(text)).values()].flat();
  const found = endpoints.map(({ serviceAccount }) => serviceAccount).filter((identity) => identity !== "");
  return [...new Set(found)].sort();
});

/** A workload of one of the mesh's trust domains may show a certificate of any other of them. */
function inTrustDomains(identities: readonly string[], domains: readonly string[]): readonly string[] {
  if (domains.length < 2) return identities;
  return identities.flatMap((identity) => {
    const [, domain, rest] = /^spiffe:\/\/([^/]+)(\/.*)$/.exec(identity) ?? [];
    const isOwn = domain !== undefined && domains.includes(domain);
    return isOwn ? domains.map((other) => `spiffe://${other}${rest}`) : [identity];
  });
}

/**
 * Client certificate, key and root that the proxy has as files, one a line; empty when it has none. They do not count towards
 * services outside of the mesh: there a rule's own TLS holds. Source: Istio's setting of the name below.
 */
export function clientFiles(view: View, service: Service): string {
  if (service.meshExternal && view.feature("preferDestinationRuleTls")) return "";
  const files = ["TLS_CLIENT_CERT_CHAIN", "TLS_CLIENT_KEY", "TLS_CLIENT_ROOT_CERT"].map((key) =>
    view.proxy.metadataText(key),
  );
  return files.some((file) => file !== "") ? files.join("\n") : "";
}

/** Services as ztunnels are sent them. */
import { canonicalOf, entryTraits, ingressUsesWaypoint, type ServiceFacts, serviceFacts } from "@flotilla/ambient";
import { type Config, isClusterSetHost, type Labels, type Service } from "@flotilla/model";
import type { ServiceEntry } from "@flotilla/proto/networking/v1alpha3/service_entry_pb";
import { type ServiceText, serviceText } from "../row-index.ts";
import { serviceIn } from "../scope/services.ts";
import { query, type View } from "../view.ts";
import { meshNetwork, namespaceTraits, sameJson } from "./namespaces.ts";
import { acrossClusters, foreignPart } from "./service-clusters.ts";
import { visibilityOf } from "./visibility.ts";
import { isGateway, serviceBinding } from "./waypoints.ts";

/** Undefined for other names of services, and for ServiceEntries that are visible to no namespace. */
export const ambientService = query<ServiceFacts | undefined, ServiceText>(
  "ambient-service",
  (view, text) => {
    const found = served(view, text);
    const across = found?.registry === "Kubernetes" ? acrossClusters(view, found) : undefined;
    const service = across?.service ?? found;
    if (service === undefined) return undefined;
    const labels = homeLabels(view, service);
    const entry = service.registry === "External" ? entryOf(view, service) : undefined;
    const binding = view.read(serviceBinding, text);
    return serviceFacts(view.feature("ipAutoAllocate") ? service : withoutAllocated(service), {
      network: view.read(meshNetwork),
      ...(across === undefined ? {} : { remoteNetworks: across.remoteNetworks }),
      ...(entry === undefined ? {} : { entry: entryTraits(entry, service.hostname) }),
      binding,
      ingressUsesWaypoint: binding.waypoint !== undefined && ingressUsesWaypoint(service.labels, labels) === true,
      isCanonical: view.read(canonicalNamespace, service.hostname) === service.namespace,
      namespaceOnly: visibilityOf(view, service) === "namespace",
    });
  },
  sameJson,
);

/** Of the service's namespace in the cluster that it is of. */
export function homeLabels(view: View, service: Service): Labels {
  const foreign = foreignPart(view, service);
  if (foreign !== undefined) return foreign.part.remote?.namespaceLabels ?? {};
  return view.read(namespaceTraits, service.namespace).labels;
}

/** Addresses by hash are for proxies that ask for them. */
function withoutAllocated({ autoAllocatedIpv4: _v4, autoAllocatedIpv6: _v6, ...service }: Service): Service {
  return service;
}

function served(view: View, text: ServiceText): Service | undefined {
  const { namespace, hostname } = serviceText.read(text);
  // As in istiod, ztunnels and waypoints have no hosts of the cluster set.
  if (isClusterSetHost(hostname)) return undefined;
  const service = serviceIn(view, namespace, hostname);
  if (service === undefined || service.resolution === "alias") return undefined;
  if (visibilityOf(view, service) === "hidden" || isGateway(service)) return undefined;
  if (service.registry === "Kubernetes" && acrossClusters(view, service) === undefined) return undefined;
  return service;
}

const canonicalNamespace = query<string | undefined, string>("canonical-namespace", (view, hostname) => {
  const all = view.servicesByHost(hostname).flatMap((name) => served(view, serviceText.write(name)) ?? []);
  const candidates = all.map((service) => ({
    namespace: service.namespace,
    isKubernetes: service.registry === "Kubernetes",
    creationTimeMs: service.creationTimeMs,
    visibility: visibilityOf(view, service),
  }));
  return canonicalOf(candidates)?.namespace;
});

function entryOf(view: View, { namespace, name }: Service): Config<ServiceEntry> | undefined {
  return view.config<ServiceEntry>("ServiceEntry", namespace, name);
}

/** Services as ztunnels are sent them. */
import { type EntryTraits, ingressUsesWaypoint, type ServiceFacts, serviceFacts } from "@flotilla/ambient";
import { isIpAddress, type Service } from "@flotilla/model";
import type { ServiceEntry } from "@flotilla/proto/networking/v1alpha3/service_entry_pb";
import { type ServiceText, serviceText } from "../row-index.ts";
import { serviceIn } from "../scope/services.ts";
import { query, type View } from "../view.ts";
import { meshNetwork, namespaceTraits, sameJson } from "./namespaces.ts";
import { isHidden, namespaceOnly } from "./visibility.ts";
import { serviceBinding } from "./waypoints.ts";

/** Undefined for other names of services, and for ServiceEntries that nobody may know. */
export const ambientService = query<ServiceFacts | undefined, ServiceText>(
  "ambient-service",
  (view, text) => {
    const service = served(view, text);
    if (service === undefined) return undefined;
    const { labels } = view.read(namespaceTraits, service.namespace);
    const entry = entryTraits(view, service);
    return serviceFacts(service, {
      network: view.read(meshNetwork),
      ...(entry === undefined ? {} : { entry }),
      binding: view.read(serviceBinding, text),
      ingressUsesWaypoint: ingressUsesWaypoint(service.labels, labels) === true,
      isCanonical: view.read(canonicalNamespace, service.hostname) === service.namespace,
      namespaceOnly: namespaceOnly(view, service),
    });
  },
  sameJson,
);

function served(view: View, text: ServiceText): Service | undefined {
  const { namespace, hostname } = serviceText.read(text);
  const service = serviceIn(view, namespace, hostname);
  if (service === undefined || service.resolution === "alias" || isHidden(view, service)) return undefined;
  return service;
}

/** Of the services of one host name a Service of Kubernetes is the one that is meant, else the oldest that all may know. */
const canonicalNamespace = query<string | undefined, string>("canonical-namespace", (view, hostname) => {
  const all = view.servicesByHost(hostname).flatMap((name) => served(view, serviceText.write(name)) ?? []);
  const own = all.filter(({ registry }) => registry === "Kubernetes");
  const candidates = own.length > 0 ? own : all.filter((service) => !namespaceOnly(view, service));
  return candidates.toSorted((a, b) => a.creationTimeMs - b.creationTimeMs)[0]?.namespace;
});

function entryTraits(view: View, { registry, namespace, name, hostname }: Service): EntryTraits | undefined {
  if (registry !== "External") return undefined;
  const entry = view.config<ServiceEntry>("ServiceEntry", namespace, name);
  if (entry === undefined) return undefined;
  const targets = entry.spec.ports.filter(({ targetPort }) => targetPort > 0);
  const { addresses = [] } = (entry.status ?? {}) as {
    readonly addresses?: readonly { readonly value?: string; readonly host?: string }[];
  };
  const isOptedOut = entry.labels["networking.istio.io/enable-autoallocate-ip"] === "false";
  const given = addresses.filter(({ host = "", value = "" }) => host === hostname && isIpAddress(value));
  return {
    targetPorts: new Map(targets.map(({ number, targetPort }) => [number, targetPort])),
    statusAddresses: isOptedOut ? [] : given.map(({ value = "" }) => value),
  };
}

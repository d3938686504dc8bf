/** Services of several networks, as the ztunnels of one are sent them. */
import {
  isGlobalService,
  type ScopeRule,
  type ServiceFacts,
  splitHorizonWorkload,
  type WorkloadFacts,
} from "@flotilla/ambient";
import type { Service } from "@flotilla/model";
import { MeshConfig_ServiceScopeConfigs_Scope as Scope } from "@flotilla/proto/mesh/v1alpha1/config_pb";
import { type ServiceText, serviceText } from "../row-index.ts";
import { serviceIn } from "../scope/services.ts";
import { query, type View } from "../view.ts";
import { sameJson, trustDomainForZtunnel } from "./namespaces.ts";
import { gatewayOfNetwork } from "./network-gateways.ts";
import { ambientService } from "./services.ts";
import { farWorkloadsIn } from "./workloads.ts";

const scopeRules = query<readonly ScopeRule[]>(
  "service-scope-rules",
  (view) =>
    view.mesh.serviceScopeConfigs.map(({ scope, namespaceSelector, servicesSelector }) => ({
      isGlobal: scope === Scope.GLOBAL,
      namespaces: namespaceSelector,
      services: servicesSelector,
    })),
  sameJson,
);

/** A Service of Kubernetes that is visible to callers of other networks; ServiceEntries are of one network each. */
function isGlobal(view: View, { registry, labels, namespace }: Service): boolean {
  if (registry !== "Kubernetes" || !view.feature("ambientMultiNetwork")) return false;
  const home = view.config("Namespace", "", namespace);
  return isGlobalService(view.read(scopeRules), labels, home?.labels);
}

/** Names of those whose workloads elsewhere are called through gateways. */
const globalServices = query<readonly ServiceText[]>("global-services", (view) => {
  if (!view.feature("ambientMultiNetwork")) return [];
  return view.serviceNames.flatMap((name) => {
    const service = serviceIn(view, name.namespace, name.hostname);
    return service !== undefined && isGlobal(view, service) ? [serviceText.write(name)] : [];
  });
});

/** Of a service. */
export const standIns = query<readonly WorkloadFacts[], ServiceText>(
  "split-horizon-workloads-of-service",
  (view, text) => {
    const service = view.read(ambientService, text);
    if (service === undefined) return [];
    return (view.read(farWorkloadsIn, service.namespace).get(text) ?? []).flatMap((far) => {
      const gateway = view.read(gatewayOfNetwork, far.network);
      const place = { trustDomain: trustDomainForZtunnel(view), clusterId: view.feature("clusterId") };
      return gateway === undefined ? [] : [splitHorizonWorkload(service, far, gateway, place)];
    });
  },
  sameJson,
);

/** By uid: a workload for each global service in each other network that has a gateway. */
export const splitHorizonWorkloads = query<ReadonlyMap<string, WorkloadFacts>>("split-horizon-workloads", (view) => {
  const all = view.read(globalServices).flatMap((text) => view.read(standIns, text));
  return new Map(all.map((one) => [one.uid, one]));
});

/** With the identities of its workloads elsewhere: callers meet them behind one gateway. */
export const servedService = query<ServiceFacts | undefined, ServiceText>(
  "served-ambient-service",
  (view, text) => {
    const facts = view.read(ambientService, text);
    const service = facts && serviceIn(view, facts.namespace, facts.hostname);
    if (facts === undefined || service === undefined || !isGlobal(view, service)) return facts;
    const far = (view.read(farWorkloadsIn, facts.namespace).get(text) ?? []).flatMap(({ identities }) => identities);
    return far.length === 0
      ? facts
      : { ...facts, subjectAltNames: [...new Set([...facts.subjectAltNames, ...far])].sort() };
  },
  sameJson,
);

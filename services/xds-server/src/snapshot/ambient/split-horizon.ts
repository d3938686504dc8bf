/** Services of several networks, as the ztunnels of one are sent them. */
import { type ServiceFacts, splitHorizonWorkload, type WorkloadFacts } from "@flotilla/ambient";
import { type ServiceText, serviceText } from "../row-index.ts";
import { query } from "../view.ts";
import { sameJson, trustDomainForZtunnel } from "./namespaces.ts";
import { gatewayOfNetwork } from "./network-gateways.ts";
import { isGlobal } from "./service-clusters.ts";
import { ambientService } from "./services.ts";
import { farWorkloadsIn } from "./workloads.ts";

/** Names of those whose workloads elsewhere are called through gateways. */
const globalServices = query<readonly ServiceText[]>("global-services", (view) => {
  if (!view.feature("ambientMultiNetwork")) return [];
  return view.serviceNames.filter((name) => isGlobal(view, name)).map((name) => serviceText.write(name));
});

/** Of a service. */
export const standIns = query<readonly WorkloadFacts[], ServiceText>(
  "split-horizon-workloads-of-service",
  (view, text) => {
    const service = view.read(ambientService, text);
    if (service === undefined || !isGlobal(view, service)) return [];
    return (view.read(farWorkloadsIn, service.namespace).get(text) ?? []).flatMap((far) => {
      const gateway = view.read(gatewayOfNetwork, far.network);
      if (gateway === undefined) return [];
      const clusterId = gateway.remoteCluster ?? view.feature("clusterId");
      return [splitHorizonWorkload(service, far, gateway, { trustDomain: trustDomainForZtunnel(view), clusterId })];
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
    if (facts === undefined || !isGlobal(view, facts)) return facts;
    const far = (view.read(farWorkloadsIn, facts.namespace).get(text) ?? []).flatMap(({ identities }) => identities);
    return far.length === 0
      ? facts
      : { ...facts, subjectAltNames: [...new Set([...facts.subjectAltNames, ...far])].sort() };
  },
  sameJson,
);

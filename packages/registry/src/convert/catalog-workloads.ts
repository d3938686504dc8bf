/**
 * Workloads of the ambient mesh from registries without objects of Kubernetes: the instances of Consul's catalog, and the endpoints
 * of the registry file, which are those of a ServiceEntry in a short form. Both by the last part of their uid.
 */
import { isIpAddress, type Workload, type WorkloadPort } from "@flotilla/model";
import type { ConsulInstance, ConsulServiceKey } from "../consul.ts";
import { type FileService, fileAsEntry, fileKey } from "../file/file-service.ts";
import { tunnelOf, workloadsOfServiceEntry } from "./ambient-workload.ts";
import {
  byPlace,
  consulLabels,
  consulNamespace,
  consulPorts,
  instanceAddress,
  isHealthy,
  localityOf,
  weightOf,
} from "./consul.ts";
import { type EndpointContext, endpointNetwork } from "./endpoint-traits.ts";

/**
 * Instances by `DATACENTER[/PARTITION][/NAMESPACE]/NODE/ID`, members of the service under each of its hosts. The catalog declares no
 * identity: an instance has the one that sidecars expect of it. Instances at the address of their node are not alone there.
 */
export function workloadsOfConsul(
  key: ConsulServiceKey,
  hosts: readonly string[],
  instances: readonly ConsulInstance[],
  context: EndpointContext,
): ReadonlyMap<string, Workload> {
  const numbers = new Set(consulPorts(instances).map(({ number }) => number));
  const namespace = consulNamespace(key);
  const { datacenter, partition, namespace: ofConsul } = key;
  const place = [datacenter, partition, ofConsul].filter((part) => part !== "");
  const found = new Map<string, Workload>();
  for (const instance of [...instances].sort(byPlace)) {
    const address = instanceAddress(instance);
    if (address === "" || !numbers.has(instance.port)) continue;
    const ports: readonly WorkloadPort[] = [{ servicePort: instance.port, targetPort: instance.port }];
    found.set([...place, instance.node, instance.id].join("/"), {
      kind: "ConsulInstance",
      ...{ name: key.name, namespace, workloadName: key.name },
      ...instanceTraits(instance, address, context),
      ports: {},
      memberOf: hosts.map((hostname) => ({ namespace, hostname, ports })),
    });
  }
  return found;
}

function instanceTraits(instance: ConsulInstance, address: string, context: EndpointContext) {
  const labels = consulLabels(instance);
  const weight = weightOf(instance);
  const isOfNode = address === instance.nodeAddress;
  return {
    ...(isIpAddress(address) ? { addresses: [address] } : { addresses: [], hostname: address }),
    ...{ labels, locality: localityOf(instance), clusterId: context.clusterId, nodeName: instance.node },
    network: endpointNetwork(address, labels, context),
    ...{ serviceAccount: "default", isReady: isHealthy(instance), tunnel: tunnelOf(labels, {}) },
    ...(weight > 0 ? { capacity: weight } : {}),
    ...(isOfNode ? { hostNetwork: true } : {}),
  } as const;
}

/** Endpoints by address, with the health that the file gives them. */
export function workloadsOfFile(file: FileService, context: EndpointContext): ReadonlyMap<string, Workload> {
  const unhealthy = new Set(
    (file.endpoints ?? []).flatMap(({ address = "", health = "unknown" }) =>
      health === "unhealthy" || health === "draining" ? [address] : [],
    ),
  );
  const { namespace, host } = fileKey(file);
  const found = workloadsOfServiceEntry(fileAsEntry(file), context);
  return new Map(
    Array.from(found, ([address, workload]) => {
      // Each endpoint states its own, where those of a ServiceEntry have that of the object.
      const tunnel = tunnelOf(workload.bindingLabels ?? {}, {});
      const isReady = !unhealthy.has(address);
      return [address, { ...workload, kind: "FileEndpoint", namespace, name: host, tunnel, isReady }];
    }),
  );
}

/** Services of Kubernetes and their endpoints, from the objects as they are now. */
import type { Endpoint, ObjectName, Service } from "@flotilla/model";
import { convertEndpointSlice, distinctEndpoints } from "../convert/endpoint-slice.ts";
import type { EndpointContext } from "../convert/endpoint-traits.ts";
import {
  clusterSetAddresses,
  convertKubernetesService,
  importedService,
  selectedByService,
} from "../convert/kubernetes-service.ts";
import { isPodReady, podWorkload } from "../convert/pod.ts";
import { convertWorkloadEntry, isHealthyEntry, type SelectableWorkload } from "../convert/workload-entry.ts";
import type { RegistrySettings } from "../settings.ts";
import { selects } from "./apply-object.ts";
import { addressesOf, namespaceOf, type Objects } from "./objects.ts";

/** Computes the services of Kubernetes and their endpoints. */
export class KubernetesSide {
  readonly #objects: Objects;
  readonly #settings: RegistrySettings;
  readonly #serviceOfMesh: (name: ObjectName) => Service | undefined;
  readonly #services = new Map<ObjectName, Service>();
  /** Converted slices: a service of many slices pays for the one that changed. */
  readonly #slices = new Map<ObjectName, readonly Endpoint[]>();

  /** `serviceOfMesh`: of any cluster. */
  constructor(
    objects: Objects,
    settings: RegistrySettings,
    serviceOfMesh: (name: ObjectName) => Service | undefined = () => undefined,
  ) {
    this.#objects = objects;
    this.#settings = settings;
    this.#serviceOfMesh = serviceOfMesh;
  }

  service(name: ObjectName, trustDomain: string): Service | undefined {
    const object = this.#objects.services.get(name);
    for (const slice of this.#objects.slicesOfService.get(name)) this.#slices.delete(slice);
    if (object === undefined) {
      this.#services.delete(name);
      return undefined;
    }
    const namespace = this.#objects.namespaces.get(namespaceOf(name));
    const service = convertKubernetesService(object, {
      domain: this.#settings.domain,
      clusterId: this.#settings.clusterId,
      trustDomain,
      nodes: this.#objects.nodes.values(),
      ...(namespace?.metadata.annotations === undefined
        ? {}
        : { namespaceAnnotations: namespace.metadata.annotations }),
    });
    this.#services.set(name, service);
    return service;
  }

  known(name: ObjectName): Service | undefined {
    return this.#services.get(name);
  }

  /** The service under its host of the cluster set; undefined unless this cluster imports it. */
  imported(name: ObjectName, hostname: string): Service | undefined {
    const serviceImport = this.#objects.serviceImports.get(name);
    if (!this.#settings.clusterSetHosts || serviceImport === undefined) return undefined;
    const service = this.#services.get(name) ?? this.#serviceOfMesh(name);
    return service && importedService(service, serviceImport, hostname, this.#settings.clusterId);
  }

  forgetSlice(name: ObjectName): void {
    this.#slices.delete(name);
  }

  endpoints(name: ObjectName, context: EndpointContext): readonly Endpoint[] {
    const service = this.#services.get(name);
    if (service === undefined) return [];
    const slices = [...this.#objects.slicesOfService.get(name)].sort();
    const ofSlices = distinctEndpoints(slices.flatMap((slice) => this.#sliceEndpoints(slice, service, context)));
    const selected = this.#settings.servicesSelectWorkloadEntries
      ? selectedWorkloads(this.#objects, service, context, { pods: false })
      : [];
    const endpoints = [...ofSlices, ...selected.flatMap((workload) => selectedByService(workload, service))];
    return this.#settings.exportedOnly && !this.#objects.serviceExports.has(name)
      ? endpoints.map(forOwnCluster)
      : endpoints;
  }

  /**
   * Of its endpoints, those under the host of the cluster set, where some cluster imports it. Callers of other clusters see those of clusters
   * that also import it. Source: istiod asked, scenario locality/cluster-set.
   */
  clusterSetEndpoints(name: ObjectName, endpoints: readonly Endpoint[]): readonly Endpoint[] {
    const serviceImport = this.#objects.serviceImports.get(name);
    if (!this.#settings.clusterSetHosts || serviceImport === undefined) return [];
    const isOwn = this.#settings.exportedOnly && clusterSetAddresses(serviceImport).length === 0;
    return isOwn ? endpoints.map(forOwnCluster) : endpoints;
  }

  #sliceEndpoints(name: ObjectName, service: Service, context: EndpointContext): readonly Endpoint[] {
    const known = this.#slices.get(name);
    const slice = this.#objects.slices.get(name);
    if (known !== undefined || slice === undefined) return known ?? [];
    const { endpoints } = convertEndpointSlice(slice, service, this.#objects, context);
    this.#slices.set(name, endpoints);
    return endpoints;
  }
}

function forOwnCluster(endpoint: Endpoint): Endpoint {
  return { ...endpoint, isClusterOnly: true };
}

/** Pods come first and by name, as their slices would: the order of the result must not depend on history. */
export function selectedWorkloads(
  objects: Objects,
  service: Service,
  context: EndpointContext,
  { pods: withPods }: { readonly pods: boolean },
): readonly SelectableWorkload[] {
  const { namespace, labelSelectors, resolution } = service;
  const forServiceEntry = service.registry === "External";
  if (!forServiceEntry && resolution !== "client-side") return [];
  const pods = withPods
    ? [...objects.podsIn.get(namespace)].sort().flatMap((name) => selectablePod(objects, name, context))
    : [];
  const machines = [...objects.workloadEntriesIn.get(namespace)].sort().flatMap((name) => {
    const entry = objects.workloadEntries.get(name);
    return entry === undefined || !isHealthyEntry(entry) ? [] : [convertWorkloadEntry(entry, context)];
  });
  const isByName = forServiceEntry && (resolution === "dns" || resolution === "dns-round-robin");
  const selected = [...pods, ...machines].filter(
    ({ workload, byNameOnly }) => selects(labelSelectors, workload.labels) && (isByName || !byNameOnly),
  );
  // One name is asked for in turn: istiod takes the first of several.
  return resolution === "dns-round-robin" ? selected.slice(0, 1) : selected;
}

function selectablePod(objects: Objects, name: ObjectName, context: EndpointContext): readonly SelectableWorkload[] {
  const pod = objects.pods.get(name);
  if (pod === undefined || !isPodReady(pod)) return [];
  const addresses = addressesOf(pod.status);
  if (addresses.length === 0) return [];
  return [
    {
      kind: "Pod",
      workload: podWorkload(pod, context),
      addresses: context.dualStack ? addresses : addresses.slice(0, 1),
      weight: 0,
      ports: {},
      byNameOnly: false,
      definedBy: `Pod/${name}`,
    },
  ];
}

/**
 * Objects in, services and endpoints out. A change of an object computes again only what depends on it,
 * and says only what differs from what was said before.
 */
import { type Config, type ConfigKey, type Endpoint, type KubeObject, objectKey, type Service } from "@flotilla/model";
import { backendServiceEntry } from "../convert/backend.ts";
import { slicesOfEndpoints } from "../convert/endpoints-object.ts";
import { clusterSetDomain } from "../convert/imported-service.ts";
import { serviceHostname } from "../convert/kubernetes-service.ts";
import { networkLabel } from "../convert/labels.ts";
import { type MeshNetworksSpec, networkLookup } from "../convert/network.ts";
import type { EndpointContext } from "../convert/pod.ts";
import { mergedWorkloadEntry } from "../convert/workload-entry.ts";
import { DiscoveryFilter } from "../discovery/discovery-filter.ts";
import { FileSide } from "../file/file-side.ts";
import type { KubeEndpointSlice, KubeNode, KubePod, KubeService } from "../kube.ts";
import { withoutNulls } from "../kube-check.ts";
import type { RegistrySettings } from "../settings.ts";
import { ConsulSide } from "./consul-side.ts";
import { Dirty } from "./dirty.ts";
import { ExternalSide, type RegistryRole } from "./external-side.ts";
import { KubernetesSide } from "./kubernetes-side.ts";
import { type MachineEntry, type MachineRecords, MachineSide } from "./machine-side.ts";
import { Objects } from "./objects.ts";
import type { RegistryProblem } from "./problem.ts";
import { findProblems } from "./problems.ts";
import { losesEndpoints, Published, type RegistryChange } from "./published.ts";
import { isRegistryObject, type RegistryInput } from "./registry-input.ts";

export interface RegistryUpdate {
  readonly changes: readonly RegistryChange[];
  /** Callers may still send requests to endpoints that are gone. */
  readonly urgent: boolean;
}

export class Registry {
  readonly #settings: RegistrySettings;
  readonly #objects = new Objects();
  readonly #published = new Published();
  readonly #kubernetes: KubernetesSide;
  readonly #external: ExternalSide;
  readonly #consul: ConsulSide;
  readonly #file: FileSide;
  readonly #machines: MachineSide;
  readonly #shard: string;
  readonly #discovery = new DiscoveryFilter();
  #trustDomain = "cluster.local";
  #networks: MeshNetworksSpec | undefined;

  readonly #role: RegistryRole;

  constructor(settings: RegistrySettings, role: RegistryRole = "own") {
    this.#settings = settings;
    this.#role = role;
    this.#shard = `Kubernetes/${settings.clusterId}`;
    this.#kubernetes = new KubernetesSide(this.#objects, settings);
    this.#external = new ExternalSide(this.#objects, settings, role);
    this.#consul = new ConsulSide(settings);
    this.#file = new FileSide(settings.clusterId);
    this.#machines = new MachineSide(settings);
  }

  /** The address that a service was given before; told before the first inputs. */
  remember(service: Pick<Service, "namespace" | "hostname" | "autoAllocatedIpv4">): void {
    this.#external.remember(service);
  }

  apply(inputs: readonly RegistryInput[]): RegistryUpdate {
    const dirty = new Dirty();
    for (const input of this.#inView(inputs)) {
      if (input.type === "config") this.#applyConfig(input.key, input.op === "put" ? input.value : undefined, dirty);
      else if (input.type === "cluster") continue;
      else if (input.type === "machine") this.#applyMachines(this.#machines.applyMachine(input), dirty);
      else if (input.type === "consul") this.#consul.apply(input, dirty);
      else if (input.type === "file") for (const [text, key] of this.#file.apply(input)) dirty.files.set(text, key);
      else if (input.op === "delete") this.#applyObject(input.key, undefined, dirty);
      else if (isRegistryObject(input.object))
        this.#applyObject(objectKey(input.object), withoutNulls(input.object), dirty);
    }
    if (dirty.everything) {
      dirty.all(this.#objects);
      this.#consul.all(dirty);
      for (const [text, key] of this.#file.all()) dirty.files.set(text, key);
    }
    return this.#recompute(dirty);
  }

  /** All that holds now, as puts. */
  state(): readonly RegistryChange[] {
    return this.#published.all();
  }

  /** What Kubernetes should show of the machines that are connected. */
  machineRecords(): MachineRecords {
    return this.#machines.records();
  }

  problems(): readonly RegistryProblem[] {
    return [
      ...this.#discovery.problems(),
      ...findProblems(this.#objects, this.#published.services()),
      ...this.#consul.problems(),
      ...this.#file.problems(),
      ...this.#machines.problems(),
    ];
  }

  /** What discoverySelectors leave of Kubernetes' objects; who publishes configuration has left out its own. */
  #inView(inputs: readonly RegistryInput[]): readonly RegistryInput[] {
    return inputs.flatMap((input) =>
      input.type === "config" && input.key.kind !== "MeshConfig" ? [input] : this.#discovery.apply([input]),
    );
  }

  #applyObject(key: ConfigKey, object: KubeObject | undefined, dirty: Dirty): void {
    const objects = this.#objects;
    const name = `${key.namespace}/${key.name}`;
    switch (key.kind) {
      case "Service":
        objects.setService(name, object as KubeService | undefined);
        dirty.service(name);
        break;
      case "EndpointSlice":
        this.#applySlice(name, object as KubeEndpointSlice | undefined, dirty);
        break;
      case "Endpoints": {
        const slices = object === undefined ? [] : slicesOfEndpoints(object);
        const kept = new Set(slices.map(({ metadata }) => `${key.namespace}/${metadata.name}`));
        const before = [...objects.slicesOfService.get(name)].filter((slice) => slice.startsWith(`${name}~`));
        for (const slice of before) if (!kept.has(slice)) this.#applySlice(slice, undefined, dirty);
        for (const slice of slices) this.#applySlice(`${key.namespace}/${slice.metadata.name}`, slice, dirty);
        break;
      }
      case "Pod":
        dirty.pod(name, objects.pods.get(name), objects);
        objects.setPod(name, object as KubePod | undefined);
        dirty.pod(name, objects.pods.get(name), objects);
        break;
      case "ServiceExport":
        if (object === undefined) objects.serviceExports.delete(name);
        else objects.serviceExports.add(name);
        if (this.#settings.exportedOnly) dirty.service(name);
        break;
      case "Node":
        setOrDelete(objects.nodes, key.name, object as KubeNode | undefined);
        dirty.node(key.name, objects);
        break;
      case "Namespace": {
        const before = objects.namespaces.get(key.name);
        setOrDelete(objects.namespaces, key.name, object);
        dirty.namespace(key, [before, object], objects, this.#settings.systemNamespace);
        break;
      }
    }
  }

  #applyConfig(key: ConfigKey, config: Config | undefined, dirty: Dirty): void {
    const objects = this.#objects;
    const name = `${key.namespace}/${key.name}`;
    switch (key.kind) {
      case "ServiceEntry":
        this.#applyEntry(name, config, dirty);
        break;
      case "XBackend": {
        const entry = config === undefined ? undefined : backendServiceEntry(config, this.#settings.domain);
        this.#applyEntry(`${name}~backend`, entry, dirty);
        break;
      }
      case "WorkloadEntry": {
        this.#applyMachines([this.#machines.applyEntry(name, config)], dirty);
        break;
      }
      case "WorkloadGroup":
        this.#applyMachines(this.#machines.applyGroup(name, config), dirty);
        break;
      case "ServiceImport":
        setOrDelete(objects.serviceImports, name, config);
        dirty.service(name);
        break;
      case "MeshConfig": {
        const { trustDomain = "cluster.local" } = (config?.spec ?? {}) as { readonly trustDomain?: string };
        dirty.everything ||= trustDomain !== this.#trustDomain;
        this.#trustDomain = trustDomain;
        this.#applyMachines(this.#machines.applyTrustDomain(trustDomain), dirty);
        break;
      }
      case "MeshNetworks":
        this.#networks = config?.spec as MeshNetworksSpec | undefined;
        dirty.everything = true;
        break;
    }
  }

  #applyMachines(entries: readonly MachineEntry[], dirty: Dirty): void {
    for (const { name, entry } of entries) this.#applyWorkloadEntry(name, entry, dirty);
  }

  #applyWorkloadEntry(name: string, config: Config | undefined, dirty: Dirty): void {
    const objects = this.#objects;
    const before = objects.workloadEntries.get(name);
    if (before !== undefined) dirty.workloadEntry(name, mergedWorkloadEntry(before).labels ?? {}, objects);
    objects.setWorkloadEntry(name, config);
    if (config !== undefined) dirty.workloadEntry(name, mergedWorkloadEntry(config).labels ?? {}, objects);
  }

  #applySlice(name: string, slice: KubeEndpointSlice | undefined, dirty: Dirty): void {
    dirty.slice(name, this.#objects.slices.get(name));
    this.#objects.setSlice(name, slice);
    dirty.slice(name, slice);
  }

  #applyEntry(name: string, entry: Config | undefined, dirty: Dirty): void {
    dirty.entry(name, this.#objects.serviceEntries.get(name));
    this.#objects.setServiceEntry(name, entry);
    dirty.entry(name, entry);
  }

  #recompute(dirty: Dirty): RegistryUpdate {
    const changes: (RegistryChange | undefined)[] = [];
    for (const slice of dirty.slices) this.#kubernetes.forgetSlice(slice);
    for (const name of dirty.services) {
      const { namespace, name: own, hostname, clusterSetHostname } = this.#host(name);
      const key = { shard: this.#shard, namespace, name: own };
      const service = this.#kubernetes.service(name, this.#trustDomain);
      const imported = this.#kubernetes.imported(name, clusterSetHostname);
      changes.push(this.#published.service({ ...key, hostname }, service));
      changes.push(this.#published.service({ ...key, hostname: clusterSetHostname }, imported));
    }
    for (const [key, service] of this.#external.services(dirty.entries)) {
      if (this.#role === "own") changes.push(this.#published.service(key, service));
    }
    const context = this.#context();
    let urgent = false;
    const publish = (shard: string, namespace: string, hostname: string, found: readonly Endpoint[]) => {
      const endpoints = withDraining(found, this.#settings.drainingLabel);
      const key = { shard, namespace, hostname };
      const before = this.#published.endpointsOf(key);
      const change = this.#published.endpoints(key, endpoints);
      if (change !== undefined) urgent ||= losesEndpoints(before, endpoints);
      changes.push(change);
    };
    for (const name of dirty.endpoints) {
      const { namespace, hostname, clusterSetHostname } = this.#host(name);
      const endpoints = this.#kubernetes.endpoints(name, context);
      const imported = this.#kubernetes.imported(name, clusterSetHostname) !== undefined;
      publish(this.#shard, namespace, hostname, endpoints);
      publish(this.#shard, namespace, clusterSetHostname, imported ? endpoints : []);
    }
    for (const host of dirty.hosts) {
      const [namespace = "", hostname = ""] = host.split("|");
      publish(this.#external.shard, namespace, hostname, this.#external.endpoints(namespace, hostname, context));
    }
    for (const [text, key] of dirty.files) {
      const { key: own, service, endpoints } = this.#file.value(text, key, context);
      changes.push(this.#published.service(own, service));
      publish(own.shard, own.namespace, own.hostname, endpoints);
    }
    for (const [text, key] of dirty.consul) {
      for (const { key: own, service, endpoints } of this.#consul.values(text, key, context)) {
        changes.push(this.#published.service(own, service));
        publish(own.shard, own.namespace, own.hostname, endpoints);
      }
    }
    return { changes: changes.filter((change) => change !== undefined), urgent };
  }

  #host(name: string): Host {
    const [namespace = "", own = ""] = name.split("/");
    const host = (domain: string) => serviceHostname(own, namespace, domain);
    return { namespace, name: own, hostname: host(this.#settings.domain), clusterSetHostname: host(clusterSetDomain) };
  }

  #context(): EndpointContext {
    const { clusterId, dualStack, persistentSessionLabel, systemNamespace } = this.#settings;
    return {
      clusterId,
      dualStack,
      persistentSessionLabel,
      trustDomain: this.#trustDomain,
      networkOf: networkLookup(this.#networks, clusterId),
      systemNetwork: this.#objects.namespaces.get(systemNamespace)?.metadata.labels?.[networkLabel] ?? "",
      nodeOf: (name) => this.#objects.nodes.get(name),
    };
  }
}

/** Whatever else is known of their health; observed at a running istiod. */
function withDraining(endpoints: readonly Endpoint[], label: string): readonly Endpoint[] {
  const drains = ({ labels }: Endpoint) => label !== "" && Boolean(labels[label]);
  if (!endpoints.some(drains)) return endpoints;
  return endpoints.map((endpoint) => (drains(endpoint) ? { ...endpoint, health: "draining" } : endpoint));
}

interface Host {
  readonly namespace: string;
  readonly name: string;
  readonly hostname: string;
  readonly clusterSetHostname: string;
}

function setOrDelete<Value>(map: Map<string, Value>, key: string, value: Value | undefined): void {
  if (value === undefined) map.delete(key);
  else map.set(key, value);
}

/**
 * Objects in, services and endpoints out. A change of an object recomputes only its dependents, and only differences from the state
 * published before are published. Where one object cannot be computed, that is its problem alone: the others go on.
 */
import {
  type Config,
  type ConfigKey,
  clusterSetDomain,
  type ObjectName,
  objectKey,
  objectName,
  ownValue,
  type Service,
  serviceHostname,
  withoutNulls,
} from "@flotilla/model";
import { configOf } from "../config.ts";
import { consulKeyText } from "../consul.ts";
import { type EndpointContext, networkLookup } from "../convert/endpoint-traits.ts";
import { waypointShareAnnotation } from "../convert/kubernetes-service.ts";
import { DiscoveryFilter } from "../discovery/discovery-filter.ts";
import { FileSide } from "../file/file-side.ts";
import type { KubeService } from "../kube.ts";
import type { RegistrySettings } from "../settings.ts";
import {
  applyObject,
  applyWorkloadEntry,
  Dirty,
  entryHost,
  isGatewayObject,
  isRegistryObject,
  isWorkloadEntryObject,
} from "./apply-object.ts";
import { ConfigSide } from "./config-side.ts";
import { ConsulSide } from "./consul-side.ts";
import { ExternalSide, type RegistryRole } from "./external-side.ts";
import { GatewaySide } from "./gateway-side.ts";
import { KubernetesSide } from "./kubernetes-side.ts";
import { Objects } from "./objects.ts";
import type { RegistryProblem } from "./problem.ts";
import { findProblems, SharedClaims } from "./problems.ts";
import { FailedObjects, Published, type RegistryChange, type RegistryUpdate, UpdateInProgress } from "./published.ts";
import { type RegistrationRecords, RegistrationSide } from "./registration-side.ts";
import type { RegistryInput } from "./registry-input.ts";
import { WorkloadSide } from "./workload-side.ts";

/** The registry of one cluster: `apply` takes inputs and returns the changes of services and endpoints. */
export class Registry {
  readonly #settings: RegistrySettings;
  readonly #objects = new Objects();
  readonly #published = new Published();
  readonly #kubernetes: KubernetesSide;
  readonly #external: ExternalSide;
  readonly #consul: ConsulSide;
  readonly #file: FileSide;
  readonly #machines: RegistrationSide;
  readonly #config: ConfigSide;
  readonly #gateways: GatewaySide;
  readonly #workloads: WorkloadSide;
  readonly #shard: string;
  readonly #discovery = new DiscoveryFilter();
  readonly #role: RegistryRole;
  /** Undefined: not looked for since the last change. */
  #problems: readonly RegistryProblem[] | undefined;
  readonly #claims = new SharedClaims();
  readonly #failed = new FailedObjects();

  /** `serviceOfMesh`: a Service of any cluster by `namespace/name`; imports are made of it where the own cluster has none. */
  constructor(
    settings: RegistrySettings,
    role: RegistryRole = "own",
    serviceOfMesh: (name: ObjectName) => Service | undefined = () => undefined,
  ) {
    this.#settings = settings;
    this.#role = role;
    this.#shard = `Kubernetes/${settings.clusterId}`;
    this.#kubernetes = new KubernetesSide(this.#objects, settings, serviceOfMesh);
    this.#external = new ExternalSide(this.#objects, settings, role, this.#failed);
    this.#consul = new ConsulSide(settings);
    this.#file = new FileSide(settings.clusterId);
    this.#machines = new RegistrationSide(settings);
    this.#config = new ConfigSide(this.#objects, this.#machines, settings);
    this.#gateways = new GatewaySide(settings);
    const catalogs = { consul: this.#consul, file: this.#file };
    this.#workloads = new WorkloadSide(this.#objects, settings, role, catalogs);
  }

  /** The address that a service was given before; set before the first inputs. */
  remember(service: Pick<Service, "namespace" | "hostname" | "autoAllocatedIpv4">): void {
    this.#external.remember(service);
  }

  apply(inputs: readonly RegistryInput[]): RegistryUpdate {
    const dirty = new Dirty();
    for (const input of inputs)
      this.#failed.attempt(inputText(input), "what depends on it", () => {
        for (const one of this.#inView(input)) this.#applyInput(one, dirty);
      });
    if (dirty.everything) {
      dirty.all(this.#objects);
      this.#consul.all(dirty);
      for (const [text, key] of this.#file.all()) dirty.files.set(text, key);
    }
    return this.#recompute(dirty);
  }

  #applyInput(input: RegistryInput, dirty: Dirty): void {
    const intake = { objects: this.#objects, dirty };
    if (input.type === "config") this.#config.apply(input.key, input.op === "put" ? input.value : undefined, dirty);
    else if (input.type === "cluster") return;
    else if (input.type === "machine") this.#config.applyMachines(this.#machines.applyMachine(input), dirty);
    else if (input.type === "consul") this.#consul.apply(input, dirty);
    else if (input.type === "file")
      for (const [text, key] of this.#file.replaceServices(input)) dirty.files.set(text, key);
    else if (input.op === "delete") {
      if (input.key.kind === "Gateway") this.#gateways.apply(objectName.write(input.key), undefined, dirty);
      else if (input.key.kind === "WorkloadEntry") this.#applyForeignEntry(input.key, undefined, dirty);
      else applyObject(intake, input.key, undefined, this.#settings);
    } else if (this.#role === "other" && isGatewayObject(input.object))
      this.#gateways.apply(objectName.write(objectKey(input.object)), withoutNulls(input.object), dirty);
    else if (this.#role === "other" && isWorkloadEntryObject(input.object))
      this.#applyForeignEntry(objectKey(input.object), configOf(withoutNulls(input.object)), dirty);
    else if (isRegistryObject(input.object))
      applyObject(intake, objectKey(input.object), withoutNulls(input.object), this.#settings);
  }

  /** All that holds now, as puts. */
  state(): readonly RegistryChange[] {
    return this.#published.all();
  }

  kubernetesService(name: ObjectName): Service | undefined {
    return this.#kubernetes.known(name);
  }

  /** Services of this cluster that discoverySelectors leave in. */
  kubernetesObjects(): Iterable<KubeService> {
    return this.#objects.services.values();
  }

  /** Services that this cluster exports to the others, by `namespace/name`. */
  exportedServices(): ReadonlySet<ObjectName> {
    return this.#objects.serviceExports;
  }

  /** Services of other clusters changed, by `namespace/name`. */
  importAnew(names: ReadonlySet<ObjectName>): RegistryUpdate {
    const dirty = new Dirty();
    for (const name of names) if (this.#objects.serviceImports.has(name)) dirty.service(name);
    return this.#recompute(dirty);
  }

  /** Records for Kubernetes of the machines that are connected. */
  machineRecords(): RegistrationRecords {
    return this.#machines.records();
  }

  /** The same list until something is applied again: to check all objects takes milliseconds in a large mesh. */
  problems(): readonly RegistryProblem[] {
    this.#problems ??= [
      ...this.#discovery.problems(),
      ...findProblems(this.#objects, this.#published.services(), this.#claims),
      ...this.#consul.problems(),
      ...this.#file.problems(),
      ...this.#machines.problems(),
      ...this.#failed.problems(),
    ];
    return this.#problems;
  }

  /** Applies discoverySelectors to Kubernetes' objects; the publisher of configuration has left out its own. */
  #inView(input: RegistryInput): readonly RegistryInput[] {
    return input.type === "config" && input.key.kind !== "MeshConfig" ? [input] : this.#discovery.apply([input]);
  }

  /** Applies a WorkloadEntry of another cluster, also one registered for a machine: that machine is connected to a control plane there. */
  #applyForeignEntry(key: ConfigKey, entry: Config | undefined, dirty: Dirty): void {
    if (this.#role === "other") applyWorkloadEntry({ objects: this.#objects, dirty }, objectName.write(key), entry);
  }

  #recompute(dirty: Dirty): RegistryUpdate {
    this.#problems = undefined;
    const update = new UpdateInProgress(this.#published, this.#settings.drainingLabel);
    for (const slice of dirty.slices) this.#kubernetes.forgetSlice(slice);
    const attempt = (object: string, part: string, compute: () => void) => this.#failed.attempt(object, part, compute);
    for (const name of dirty.services)
      attempt(`Service/${name}`, "the service", () => this.#updateService(name, update));
    if (dirty.gateways.size > 0 || dirty.everything) this.#updateGateways(dirty, update);
    if (dirty.entries.size > 0)
      for (const [key, service] of this.#external.services(dirty.entries))
        if (this.#role === "own") update.service(key, service);
    const context = this.#context();
    for (const name of dirty.endpoints)
      attempt(`Service/${name}`, "its endpoints", () => this.#updateEndpoints(name, context, update));
    for (const text of dirty.hosts) {
      const { namespace, host: hostname } = entryHost.read(text);
      const key = { shard: this.#external.shard, namespace, hostname };
      const compute = () => update.endpoints(key, this.#external.endpoints(namespace, hostname, context));
      attempt(`ServiceEntries of ${namespace}/${hostname}`, "the endpoints", compute);
    }
    for (const [text, key] of dirty.files)
      attempt(`File/${text}`, "the service", () => {
        const { key: own, service, endpoints } = this.#file.value(text, key, context);
        update.service(own, service);
        update.endpoints(own, endpoints);
      });
    for (const [text, key] of dirty.consul)
      attempt(`Consul/${text}`, "the service", () => {
        for (const { key: own, service, endpoints } of this.#consul.values(text, key, context)) {
          update.service(own, service);
          update.endpoints(own, endpoints);
        }
      });
    if (this.#settings.ambient)
      for (const [key, workload] of this.#workloads.changes(dirty, context, this.#failed))
        update.workload(key, workload);
    return { changes: update.changes, urgent: update.urgent };
  }

  #updateService(name: ObjectName, update: UpdateInProgress): void {
    const { namespace, name: own, hostname, clusterSetHostname } = this.#host(name);
    const key = { shard: this.#shard, namespace, name: own };
    const service = this.#withCluster(this.#kubernetes.service(name, this.#config.trustDomain));
    const imported = this.#kubernetes.imported(name, clusterSetHostname);
    update.service({ ...key, hostname }, service);
    update.service({ ...key, hostname: clusterSetHostname }, imported);
  }

  #updateGateways(dirty: Dirty, update: UpdateInProgress): void {
    const network = this.#objects.networkOf(this.#settings.systemNamespace);
    for (const name of this.#gateways.concerned(dirty))
      this.#failed.attempt(`Gateway/${name}`, "its addresses", () => {
        for (const { key, service } of this.#gateways.changesOf(name, network)) update.service(key, service);
      });
  }

  #updateEndpoints(name: ObjectName, context: EndpointContext, update: UpdateInProgress): void {
    const { namespace, hostname, clusterSetHostname } = this.#host(name);
    const endpoints = this.#kubernetes.endpoints(name, context);
    update.endpoints({ shard: this.#shard, namespace, hostname }, endpoints);
    const ofSet = { shard: this.#shard, namespace, hostname: clusterSetHostname };
    update.endpoints(ofSet, this.#kubernetes.clusterSetEndpoints(name, endpoints));
  }

  /** Adds the facts of its cluster on which callers of others in the ambient mesh depend. */
  #withCluster(service: Service | undefined): Service | undefined {
    if (service === undefined || this.#role === "own" || !this.#settings.ambient) return service;
    const home = this.#objects.namespaces.get(service.namespace);
    const namespaceLabels = home === undefined ? {} : { namespaceLabels: home.metadata.labels ?? {} };
    const share = ownValue(home?.metadata.annotations, waypointShareAnnotation);
    const annotations = share === undefined ? {} : { namespaceAnnotations: { [waypointShareAnnotation]: share } };
    const network = this.#objects.networkOf(this.#settings.systemNamespace);
    return { ...service, remote: { network, ...namespaceLabels, ...annotations } };
  }

  #host(name: ObjectName): Host {
    const { namespace, name: own } = objectName.read(name);
    const host = (domain: string) => serviceHostname(own, namespace, domain);
    return { namespace, name: own, hostname: host(this.#settings.domain), clusterSetHostname: host(clusterSetDomain) };
  }

  #context(): EndpointContext {
    const { clusterId, dualStack, persistentSessionLabel, systemNamespace } = this.#settings;
    return {
      clusterId,
      dualStack,
      persistentSessionLabel,
      trustDomain: this.#config.trustDomain,
      networkOf: networkLookup(this.#config.networks, clusterId),
      systemNetwork: this.#objects.networkOf(systemNamespace),
      nodeOf: (name) => this.#objects.nodes.get(name),
    };
  }
}

/** As problems name the object of an input. */
function inputText(input: RegistryInput): string {
  if (input.type === "file") return "File";
  if (input.type === "consul") return `Consul/${consulKeyText(input.key)}`;
  if (input.type === "machine" || input.type === "cluster") return input.type;
  const { kind, namespace, name } =
    input.type === "config" || input.op === "delete" ? input.key : objectKey(input.object);
  return `${kind}/${namespace === "" ? "" : `${namespace}/`}${name}`;
}

interface Host {
  readonly namespace: string;
  readonly name: string;
  readonly hostname: string;
  readonly clusterSetHostname: string;
}

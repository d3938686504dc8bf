/** Workloads of the ambient mesh, from the objects as they are now. */
import {
  type ObjectName,
  objectName,
  serviceHostname,
  type Workload,
  type WorkloadKey,
  type WorkloadMembership,
  workloadUid,
} from "@flotilla/model";
import {
  namesPod,
  podServicePorts,
  workloadOfEntry,
  workloadOfPod,
  workloadsOfServiceEntry,
  workloadsOfSlice,
} from "../convert/ambient-workload.ts";
import { consulNamespace } from "../convert/consul.ts";
import type { EndpointContext } from "../convert/endpoint-traits.ts";
import type { FileSide } from "../file/file-side.ts";
import type { KubePod } from "../kube.ts";
import type { RegistrySettings } from "../settings.ts";
import { type Dirty, selects } from "./apply-object.ts";
import type { ConsulSide } from "./consul-side.ts";
import type { RegistryRole } from "./external-side.ts";
import { addressesOf, type MultiMap, namespaceOf, type Objects, serviceOfSlice } from "./objects.ts";

/** Registries beside Kubernetes whose services have workloads of their own. */
interface Catalogs {
  readonly consul: ConsulSide;
  readonly file: FileSide;
}

type KubernetesKind = "Pod" | "WorkloadEntry" | "ServiceEntry" | "EndpointSlice";

type Change = readonly [key: WorkloadKey, value: Workload | undefined];

/** Computes the workloads that have to be published anew; undefined for those that are gone. */
export class WorkloadSide {
  readonly #objects: Objects;
  readonly #settings: RegistrySettings;
  readonly #role: RegistryRole;
  readonly #catalogs: Catalogs;
  /** The keys of the workloads of each ServiceEntry, EndpointSlice, service of Consul or of the file that were published. */
  readonly #published = new Map<string, readonly WorkloadKey[]>();

  constructor(objects: Objects, settings: RegistrySettings, role: RegistryRole, catalogs: Catalogs) {
    this.#objects = objects;
    this.#settings = settings;
    this.#role = role;
    this.#catalogs = catalogs;
  }

  *changes(dirty: Dirty, context: EndpointContext): Iterable<Change> {
    const { pods, workloadEntries, entries, slices } = dirty;
    for (const name of pods) yield [this.#key("Pod", name), this.#pod(name, context)];
    for (const name of slices) yield* this.#slice(name, context);
    for (const name of workloadEntries) {
      const entry = this.#objects.workloadEntries.get(name);
      yield [this.#key("WorkloadEntry", name), entry && workloadOfEntry(entry, context)];
    }
    // ServiceEntries and catalogs belong to one cluster.
    if (this.#role !== "own") return;
    for (const name of entries) {
      const entry = this.#objects.serviceEntries.get(name);
      const found = entry === undefined ? new Map<string, Workload>() : workloadsOfServiceEntry(entry, context);
      yield* this.#ofObject("ServiceEntry", name, found);
    }
    yield* this.#ofCatalogs(dirty, context);
  }

  *#ofCatalogs({ consul, files }: Dirty, context: EndpointContext): Iterable<Change> {
    const { clusterId } = this.#settings;
    for (const [text, key] of consul) {
      const found = this.#catalogs.consul.workloads(text, key, context);
      const of = { clusterId, kind: "ConsulInstance", namespace: consulNamespace(key), name: key.name } as const;
      yield* this.#replace(`Consul/${text}`, `Consul/${key.datacenter}`, of, found);
    }
    for (const [text, { namespace, host: name }] of files) {
      const found = this.#catalogs.file.workloads(text, context);
      const of = { clusterId, kind: "FileEndpoint", namespace, name } as const;
      yield* this.#replace(`File/${text}`, `File/${clusterId}`, of, found);
    }
  }

  #pod(name: ObjectName, context: EndpointContext): Workload | undefined {
    const pod = this.#objects.pods.get(name);
    const workload = pod && workloadOfPod(pod, addressesOf(pod.status), this.#targetedBy(name, pod), context);
    return workload && this.#atHome(this.#placed(workload));
  }

  /** The labels of the namespace bind a pod of another cluster to a waypoint there. */
  #atHome(workload: Workload): Workload {
    const home = workload.isRemote === true ? this.#objects.namespaces.get(workload.namespace) : undefined;
    return home === undefined ? workload : { ...workload, namespaceLabels: home.metadata.labels ?? {} };
  }

  #placed(workload: Workload): Workload {
    return this.#role === "own" ? workload : { ...workload, isRemote: true };
  }

  /** Services whose slices name the pod, and whose selector does not. */
  #targetedBy(name: ObjectName, pod: KubePod): readonly WorkloadMembership[] {
    const slices: ReturnType<MultiMap<ObjectName>["get"]> = this.#objects.slicesOfPod.get(name);
    const found = new Map<string, WorkloadMembership>();
    for (const text of [...slices].sort()) {
      const slice = this.#objects.slices.get(text);
      const owner = slice && this.#owner(slice);
      if (slice === undefined || owner === undefined || !namesPod(slice, pod)) continue;
      if (selects(owner.service.spec?.selector, pod.metadata.labels ?? {})) continue;
      const [namespace, { hostname, service }] = [namespaceOf(text), owner];
      found.set(hostname, { namespace, hostname, ports: podServicePorts(pod, service) });
    }
    return [...found.values()];
  }

  #slice(name: ObjectName, context: EndpointContext): Iterable<Change> {
    const slice = this.#objects.slices.get(name);
    const owner = slice && this.#owner(slice);
    const found =
      slice === undefined || owner === undefined
        ? new Map<string, Workload>()
        : workloadsOfSlice(slice, owner, context);
    const placed = [...found].map(([address, workload]) => [address, this.#placed(workload)] as const);
    return this.#ofObject("EndpointSlice", name, new Map(placed));
  }

  /** Not an ExternalName, which may have the slices of an earlier type: it is no service of the ambient mesh. */
  #owner(slice: Parameters<typeof serviceOfSlice>[0]) {
    const name = serviceOfSlice(slice);
    const service = name === undefined ? undefined : this.#objects.services.get(name);
    if (service === undefined || service.spec?.type === "ExternalName") return undefined;
    const { metadata } = service;
    return { service, hostname: serviceHostname(metadata.name, metadata.namespace ?? "", this.#settings.domain) };
  }

  #ofObject(
    kind: "ServiceEntry" | "EndpointSlice",
    name: ObjectName,
    found: ReadonlyMap<string, Workload>,
  ): Iterable<Change> {
    const { shard } = this.#key(kind, name);
    const of = { clusterId: this.#settings.clusterId, kind, ...objectName.read(name) };
    return this.#replace(`${kind}/${name}`, shard, of, found);
  }

  /** @param found the present workloads of one owner, by the last part of their uid: those that it had before and has no more are gone */
  *#replace(
    owner: string,
    shard: string,
    of: Parameters<typeof workloadUid>[0],
    found: ReadonlyMap<string, Workload>,
  ): Iterable<Change> {
    const { namespace } = of;
    const present = Array.from(
      found,
      ([part, workload]) => [{ shard, namespace, uid: workloadUid(of, part) }, workload] as const,
    );
    const uids = new Set(present.map(([{ uid }]) => uid));
    for (const key of this.#published.get(owner) ?? []) if (!uids.has(key.uid)) yield [key, undefined];
    if (present.length === 0) this.#published.delete(owner);
    else
      this.#published.set(
        owner,
        present.map(([key]) => key),
      );
    yield* present;
  }

  #key(kind: KubernetesKind, object: ObjectName): WorkloadKey {
    const { clusterId } = this.#settings;
    const { namespace, name } = objectName.read(object);
    const registry = kind === "Pod" || kind === "EndpointSlice" ? "Kubernetes" : "External";
    return { shard: `${registry}/${clusterId}`, namespace, uid: workloadUid({ clusterId, kind, namespace, name }) };
  }
}

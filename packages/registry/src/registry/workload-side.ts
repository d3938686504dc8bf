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
import type { ConsulServiceKey } from "../consul.ts";
import { workloadOfEntry, workloadOfPod, workloadsOfServiceEntry } from "../convert/ambient-workload.ts";
import { consulNamespace } from "../convert/consul.ts";
import type { EndpointContext } from "../convert/endpoint-traits.ts";
import { namesPod, podServicePorts, workloadsOfSlice } from "../convert/slice-workload.ts";
import type { FileKey } from "../file/file-service.ts";
import type { FileSide } from "../file/file-side.ts";
import type { KubePod } from "../kube.ts";
import type { RegistrySettings } from "../settings.ts";
import { type Dirty, selects } from "./apply-object.ts";
import type { ConsulSide } from "./consul-side.ts";
import type { RegistryRole } from "./external-side.ts";
import { type MultiMap, namespaceOf, type Objects, serviceOfSlice, setOrDelete, statedAddresses } from "./objects.ts";
import type { FailedObjects } from "./published.ts";

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

  *changes(dirty: Dirty, context: EndpointContext, failed: FailedObjects): Iterable<Change> {
    const { pods, workloadEntries, entries, slices } = dirty;
    const attempt = (object: string, compute: () => Iterable<Change>) =>
      failed.attempt(object, "its workloads", () => [...compute()]) ?? [];
    for (const name of pods) yield* attempt(`Pod/${name}`, () => [[this.#key("Pod", name), this.#pod(name, context)]]);
    for (const name of slices) yield* attempt(`EndpointSlice/${name}`, () => this.#slice(name, context));
    for (const name of workloadEntries) yield* attempt(`WorkloadEntry/${name}`, () => [this.#entry(name, context)]);
    // ServiceEntries and catalogs belong to one cluster.
    if (this.#role !== "own") return;
    for (const name of entries) yield* attempt(`ServiceEntry/${name}`, () => this.#serviceEntry(name, context));
    for (const [text, key] of dirty.consul) yield* attempt(`Consul/${text}`, () => this.#consul(text, key, context));
    for (const [text, key] of dirty.files) yield* attempt(`File/${text}`, () => this.#file(text, key, context));
  }

  #consul(text: string, key: ConsulServiceKey, context: EndpointContext): Iterable<Change> {
    const { clusterId } = this.#settings;
    const of = { clusterId, kind: "ConsulInstance", namespace: consulNamespace(key), name: key.name } as const;
    const found = this.#catalogs.consul.workloads(text, key, context);
    return this.#replace(`Consul/${text}`, `Consul/${key.datacenter}`, of, found);
  }

  #file(text: string, { namespace, host: name }: FileKey, context: EndpointContext): Iterable<Change> {
    const of = { clusterId: this.#settings.clusterId, kind: "FileEndpoint", namespace, name } as const;
    return this.#replace(`File/${text}`, `File/${of.clusterId}`, of, this.#catalogs.file.workloads(text, context));
  }

  #entry(name: ObjectName, context: EndpointContext): Change {
    const entry = this.#objects.workloadEntries.get(name);
    return [this.#key("WorkloadEntry", name), entry && workloadOfEntry(entry, context)];
  }

  #serviceEntry(name: ObjectName, context: EndpointContext): Iterable<Change> {
    const entry = this.#objects.serviceEntries.get(name);
    const found = entry === undefined ? new Map<string, Workload>() : workloadsOfServiceEntry(entry, context);
    return this.#ofObject("ServiceEntry", name, found);
  }

  #pod(name: ObjectName, context: EndpointContext): Workload | undefined {
    const pod = this.#objects.pods.get(name);
    const workload = pod && workloadOfPod(pod, statedAddresses(pod.status), this.#targetedBy(name, pod), context);
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
    return this.#ofObject("EndpointSlice", name, new Map([...found].map(([part, one]) => [part, this.#placed(one)])));
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
    const keys = present.map(([key]) => key);
    setOrDelete(this.#published, owner, keys.length === 0 ? undefined : keys);
    yield* present;
  }

  #key(kind: KubernetesKind, object: ObjectName): WorkloadKey {
    const { clusterId } = this.#settings;
    const { namespace, name } = objectName.read(object);
    const registry = kind === "Pod" || kind === "EndpointSlice" ? "Kubernetes" : "External";
    return { shard: `${registry}/${clusterId}`, namespace, uid: workloadUid({ clusterId, kind, namespace, name }) };
  }
}

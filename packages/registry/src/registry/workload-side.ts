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
  slicePorts,
  workloadOfEntry,
  workloadOfPod,
  workloadsOfServiceEntry,
  workloadsOfSlice,
} from "../convert/ambient-workload.ts";
import type { EndpointContext } from "../convert/endpoint-traits.ts";
import type { RegistrySettings } from "../settings.ts";
import type { Dirty } from "./apply-object.ts";
import type { RegistryRole } from "./external-side.ts";
import { addressesOf, type MultiMap, namespaceOf, type Objects, serviceOfSlice } from "./objects.ts";

type Change = readonly [key: WorkloadKey, value: Workload | undefined];

/** Computes the workloads that have to be published anew; undefined for those that are gone. */
export class WorkloadSide {
  readonly #objects: Objects;
  readonly #settings: RegistrySettings;
  readonly #role: RegistryRole;
  /** The addresses of each ServiceEntry and EndpointSlice that were published, by its kind and name. */
  readonly #addresses = new Map<string, ReadonlySet<string>>();

  constructor(objects: Objects, settings: RegistrySettings, role: RegistryRole) {
    this.#objects = objects;
    this.#settings = settings;
    this.#role = role;
  }

  *changes({ pods, workloadEntries, entries, slices }: Dirty, context: EndpointContext): Iterable<Change> {
    for (const name of pods) yield [this.#key("Pod", name), this.#pod(name, context)];
    for (const name of slices) yield* this.#slice(name, context);
    // Machines and ServiceEntries belong to one cluster.
    if (this.#role !== "own") return;
    for (const name of workloadEntries) {
      const entry = this.#objects.workloadEntries.get(name);
      yield [this.#key("WorkloadEntry", name), entry && workloadOfEntry(entry, context)];
    }
    for (const name of entries) {
      const entry = this.#objects.serviceEntries.get(name);
      const found = entry === undefined ? new Map<string, Workload>() : workloadsOfServiceEntry(entry, context);
      yield* this.#ofObject("ServiceEntry", name, found);
    }
  }

  #pod(name: ObjectName, context: EndpointContext): Workload | undefined {
    const pod = this.#objects.pods.get(name);
    return pod && workloadOfPod(pod, addressesOf(pod.status), this.#targetedBy(name), context);
  }

  /** Services without a selector whose slices name the pod. */
  #targetedBy(pod: ObjectName): readonly WorkloadMembership[] {
    const slices: ReturnType<MultiMap<ObjectName>["get"]> = this.#objects.slicesOfPod.get(pod);
    const found = new Map<string, WorkloadMembership>();
    for (const name of [...slices].sort()) {
      const slice = this.#objects.slices.get(name);
      const owner = slice && this.#selectorlessOwner(slice);
      if (slice === undefined || owner === undefined) continue;
      const namespace = namespaceOf(name);
      found.set(owner.hostname, { namespace, hostname: owner.hostname, ports: slicePorts(slice, owner) });
    }
    return [...found.values()];
  }

  #slice(name: ObjectName, context: EndpointContext): Iterable<Change> {
    const slice = this.#objects.slices.get(name);
    const owner = slice && this.#selectorlessOwner(slice);
    const found =
      slice === undefined || owner === undefined
        ? new Map<string, Workload>()
        : workloadsOfSlice(slice, owner, context);
    return this.#ofObject("EndpointSlice", name, found);
  }

  #selectorlessOwner(slice: Parameters<typeof serviceOfSlice>[0]) {
    const name = serviceOfSlice(slice);
    const service = name === undefined ? undefined : this.#objects.services.get(name);
    if (service === undefined || Object.keys(service.spec?.selector ?? {}).length > 0) return undefined;
    const { metadata } = service;
    return { service, hostname: serviceHostname(metadata.name, metadata.namespace ?? "", this.#settings.domain) };
  }

  *#ofObject(
    kind: "ServiceEntry" | "EndpointSlice",
    name: ObjectName,
    found: ReadonlyMap<string, Workload>,
  ): Iterable<Change> {
    const id = `${kind}/${name}`;
    for (const address of this.#addresses.get(id) ?? [])
      if (!found.has(address)) yield [this.#key(kind, name, address), undefined];
    if (found.size === 0) this.#addresses.delete(id);
    else this.#addresses.set(id, new Set(found.keys()));
    for (const [address, workload] of found) yield [this.#key(kind, name, address), workload];
  }

  #key(kind: Workload["kind"], object: ObjectName, address?: string): WorkloadKey {
    const { clusterId } = this.#settings;
    const { namespace, name } = objectName.read(object);
    const registry = kind === "Pod" || kind === "EndpointSlice" ? "Kubernetes" : "External";
    const uid = workloadUid({ clusterId, kind, namespace, name }, address);
    return { shard: `${registry}/${clusterId}`, namespace, uid };
  }
}

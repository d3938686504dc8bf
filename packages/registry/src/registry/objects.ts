/** The objects that services and endpoints are made from, with the indexes of who depends on whom. */
import {
  type Config,
  type ConfigKey,
  isIpAddress,
  type KubeObject,
  type ObjectName,
  objectName,
} from "@flotilla/model";
import type { PodLookup } from "../convert/endpoint-slice.ts";
import { networkLabel } from "../convert/endpoint-traits.ts";
import type { KubeEndpointSlice, KubeNode, KubePod, KubeService, ServiceEntrySpec } from "../kube.ts";

/** The objects of one cluster with their indexes. */
export class Objects implements PodLookup {
  readonly services = new Map<ObjectName, KubeService>();
  readonly slices = new Map<ObjectName, KubeEndpointSlice>();
  readonly pods = new Map<ObjectName, KubePod>();
  readonly nodes = new Map<string, KubeNode>();
  readonly namespaces = new Map<string, KubeObject>();
  readonly serviceEntries = new Map<ObjectName, Config>();
  readonly workloadEntries = new Map<ObjectName, Config>();

  /** Services that their cluster exports to the others. */
  readonly serviceExports = new Set<ObjectName>();
  /** Specs of ServiceImports. */
  readonly serviceImports = new Map<ObjectName, Config>();

  /** By namespace. */
  readonly servicesIn = new MultiMap<ObjectName>();
  readonly podsIn = new MultiMap<ObjectName>();
  readonly entriesIn = new MultiMap<ObjectName>();
  readonly workloadEntriesIn = new MultiMap<ObjectName>();
  /** Slices by the service they belong to, by the pods they name, and by addresses without a pod. */
  readonly slicesOfService = new MultiMap<ObjectName>();
  readonly slicesOfPod = new MultiMap<ObjectName>();
  readonly slicesOfAddress = new MultiMap<ObjectName>();
  readonly podsOnNode = new MultiMap<ObjectName>();
  readonly podsOfAddress = new MultiMap<ObjectName>();
  /** ServiceEntries by `namespace|host`. */
  readonly entriesOfHost = new MultiMap<ObjectName>();

  setService(name: ObjectName, service: KubeService | undefined): void {
    replace(this.services, name, service, (_, update) => update(this.servicesIn, namespaceOf(name)));
  }

  setSlice(name: ObjectName, slice: KubeEndpointSlice | undefined): void {
    replace(this.slices, name, slice, (value, update) => {
      const namespace = namespaceOf(name);
      const service = serviceOfSlice(value);
      if (service !== undefined) update(this.slicesOfService, service);
      for (const { targetRef, addresses = [] } of value.endpoints ?? []) {
        if (targetRef?.kind === "Pod") {
          update(this.slicesOfPod, podOf(targetRef, namespace));
        } else for (const address of addresses) update(this.slicesOfAddress, `${namespace}|${address}`);
      }
    });
  }

  setPod(name: ObjectName, pod: KubePod | undefined): void {
    replace(this.pods, name, pod, ({ spec, status }, update) => {
      update(this.podsIn, namespaceOf(name));
      if (spec?.nodeName !== undefined) update(this.podsOnNode, spec.nodeName);
      for (const address of addressesOf(status)) update(this.podsOfAddress, `${namespaceOf(name)}|${address}`);
    });
  }

  setServiceEntry(name: ObjectName, entry: Config | undefined): void {
    replace(this.serviceEntries, name, entry, ({ spec }, update) => {
      update(this.entriesIn, namespaceOf(name));
      for (const host of (spec as ServiceEntrySpec).hosts ?? [])
        update(this.entriesOfHost, `${namespaceOf(name)}|${host}`);
    });
  }

  setWorkloadEntry(name: ObjectName, entry: Config | undefined): void {
    replace(this.workloadEntries, name, entry, (_, update) => update(this.workloadEntriesIn, namespaceOf(name)));
  }

  byName(namespace: string, name: string): KubePod | undefined {
    return this.pods.get(objectName.write({ namespace, name }));
  }

  /** Network of the cluster by the label of its system namespace; empty without one. */
  networkOf(systemNamespace: string): string {
    return this.namespaces.get(systemNamespace)?.metadata.labels?.[networkLabel] ?? "";
  }

  byAddress(namespace: string, address: string): KubePod | undefined {
    // Two pods of one address share their node's network; which of them answers cannot be determined.
    const [name] = [...this.podsOfAddress.get(`${namespace}|${address}`)].sort();
    return name === undefined ? undefined : this.pods.get(name);
  }
}

/** `namespace/name` of the Service; undefined for a slice that names none. */
export function serviceOfSlice({ metadata }: KubeEndpointSlice): ObjectName | undefined {
  const service = metadata.labels?.["kubernetes.io/service-name"];
  return service === undefined || service === ""
    ? undefined
    : objectName.write({ namespace: metadata.namespace ?? "", name: service });
}

/** All addresses of a pod, the primary one first. Texts that are none are left out: nothing could be sent to them. */
export function addressesOf(status: KubePod["status"]): readonly string[] {
  const all = statedAddresses(status);
  return all.every(isIpAddress) ? all : all.filter(isIpAddress);
}

/** As the status has them. */
export function statedAddresses(status: KubePod["status"]): readonly string[] {
  const all = status?.podIPs?.map(({ ip = "" }) => ip) ?? [];
  return all.length > 0 ? all : status?.podIP ? [status.podIP] : [];
}

/** The pod that an endpoint of a slice names; without a namespace it is of the slice's. */
export function podOf({ namespace, name = "" }: Partial<ConfigKey>, ofSlice: string): ObjectName {
  return objectName.write({ namespace: namespace ?? ofSlice, name });
}

/** The namespace of an object's name. */
export function namespaceOf(name: ObjectName): string {
  return objectName.read(name).namespace;
}

type Update = (index: MultiMap<ObjectName>, key: string) => void;

/** Takes the old value out of the indexes and puts the new one in. A value that cannot be read changes nothing. */
function replace<Value>(
  map: Map<ObjectName, Value>,
  name: ObjectName,
  value: Value | undefined,
  index: (value: Value, update: Update) => void,
): void {
  const places: (readonly [MultiMap<ObjectName>, string])[] = [];
  if (value !== undefined) index(value, (into, key) => places.push([into, key]));
  const before = map.get(name);
  if (before !== undefined) index(before, (into, key) => into.remove(key, name));
  if (value === undefined) {
    map.delete(name);
    return;
  }
  map.set(name, value);
  for (const [into, key] of places) into.add(key, name);
}

/** Sets the value, or removes the key where there is none. */
export function setOrDelete<Value>(map: Map<string, Value>, key: string, value: Value | undefined): void {
  if (value === undefined) map.delete(key);
  else map.set(key, value);
}

/** Many values for one key; keys without values take no room. */
export class MultiMap<Value> {
  readonly #sets = new Map<string, Set<Value>>();

  add(key: string, value: Value): void {
    const set = this.#sets.get(key);
    if (set === undefined) this.#sets.set(key, new Set([value]));
    else set.add(value);
  }

  remove(key: string, value: Value): void {
    const set = this.#sets.get(key);
    if (set?.delete(value) && set.size === 0) this.#sets.delete(key);
  }

  get(key: string): ReadonlySet<Value> {
    return this.#sets.get(key) ?? empty;
  }
}

const empty: ReadonlySet<never> = new Set();

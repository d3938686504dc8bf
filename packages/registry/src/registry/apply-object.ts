/**
 * One changed object, put among those that are known: whatever depended on what it was, or depends on what it is, has to be
 * computed again.
 */
import {
  apiGroup,
  type Config,
  type ConfigKey,
  equalJson,
  type KubeObject,
  type Labels,
  type ObjectName,
  objectName,
  ownValue,
  type TextOf,
  textCodec,
} from "@flotilla/model";
import type { ConsulServiceKey } from "../consul.ts";
import { networkLabel } from "../convert/endpoint-traits.ts";
import { slicesOfEndpoints } from "../convert/endpoints-object.ts";
import { waypointShareAnnotation } from "../convert/kubernetes-service.ts";
import { mergedWorkloadEntry } from "../convert/workload-entry.ts";
import type { FileKey } from "../file/file-service.ts";
import type { KubeEndpointSlice, KubeNode, KubePod, KubeService, ServiceEntrySpec } from "../kube.ts";
import type { RegistrySettings } from "../settings.ts";
import { addressesOf, namespaceOf, type Objects, podOf, serviceOfSlice, setOrDelete } from "./objects.ts";
import { multiClusterGroup } from "./registry-input.ts";

/** Kinds of Kubernetes objects that services and endpoints are made from, by API group. */
export const registryKinds: Readonly<Record<string, string>> = {
  Service: "",
  Pod: "",
  Node: "",
  Namespace: "",
  EndpointSlice: "discovery.k8s.io",
  Endpoints: "",
  ServiceExport: multiClusterGroup,
};

/** Of other clusters: the own cluster's are configuration. */
export function isGatewayObject({ apiVersion, kind }: KubeObject): boolean {
  return kind === "Gateway" && apiGroup(apiVersion) === "gateway.networking.k8s.io";
}

/** WorkloadEntries are read from other clusters only, as Gateways are. */
export function isWorkloadEntryObject({ apiVersion, kind }: KubeObject): boolean {
  return kind === "WorkloadEntry" && apiGroup(apiVersion) === "networking.istio.io";
}

/** Kinds of other groups may share a name: Knative has Services too. */
export function isRegistryObject({ apiVersion, kind }: KubeObject): boolean {
  return ownValue(registryKinds, kind) === apiGroup(apiVersion);
}

/** The present objects, and the results that have to be computed again. */
export interface Intake {
  readonly objects: Objects;
  readonly dirty: Dirty;
}

/**
 * An object of Kubernetes; `undefined`: it is gone. Whatever depends on it is found out before it is set: an object for which that fails leaves
 * the former one in place.
 */
export function applyObject(
  intake: Intake,
  key: ConfigKey,
  object: KubeObject | undefined,
  { exportedOnly, systemNamespace }: Pick<RegistrySettings, "exportedOnly" | "systemNamespace">,
): void {
  const { objects, dirty } = intake;
  const name = objectName.write(key);
  switch (key.kind) {
    case "Service":
      dirty.service(name);
      dirty.membership(name, objects);
      objects.setService(name, object as KubeService | undefined);
      break;
    case "EndpointSlice":
      applySlice(intake, name, object as KubeEndpointSlice | undefined);
      break;
    case "Endpoints": {
      const slices = object === undefined ? [] : slicesOfEndpoints(object);
      const nameOf = ({ metadata }: KubeEndpointSlice) =>
        objectName.write({ namespace: key.namespace, name: metadata.name });
      const kept = new Set(slices.map(nameOf));
      const before = [...objects.slicesOfService.get(name)].filter((slice) => slice.startsWith(`${name}~`));
      for (const slice of before) if (!kept.has(slice)) applySlice(intake, slice, undefined);
      for (const slice of slices) applySlice(intake, nameOf(slice), slice);
      break;
    }
    case "Pod":
      dirty.pod(name, objects.pods.get(name), objects);
      dirty.pod(name, object as KubePod | undefined, objects);
      objects.setPod(name, object as KubePod | undefined);
      break;
    case "ServiceExport":
      if (object === undefined) objects.serviceExports.delete(name);
      else objects.serviceExports.add(name);
      if (exportedOnly) dirty.service(name);
      break;
    case "Node":
      setOrDelete(objects.nodes, key.name, object as KubeNode | undefined);
      dirty.node(key.name, objects);
      break;
    case "Namespace": {
      dirty.namespace(key, [objects.namespaces.get(key.name), object], objects, systemNamespace);
      setOrDelete(objects.namespaces, key.name, object);
      break;
    }
  }
}

/** Of machines too. */
export function applyWorkloadEntry({ objects, dirty }: Intake, name: ObjectName, config: Config | undefined): void {
  const before = objects.workloadEntries.get(name);
  if (before !== undefined) dirty.workloadEntry(name, mergedWorkloadEntry(before).labels ?? {}, objects);
  if (config !== undefined) dirty.workloadEntry(name, mergedWorkloadEntry(config).labels ?? {}, objects);
  objects.setWorkloadEntry(name, config);
}

/** A ServiceEntry, or what counts as one. */
export function applyEntry({ objects, dirty }: Intake, name: ObjectName, entry: Config | undefined): void {
  dirty.entry(name, objects.serviceEntries.get(name));
  dirty.entry(name, entry);
  objects.setServiceEntry(name, entry);
}

function applySlice({ objects, dirty }: Intake, name: ObjectName, slice: KubeEndpointSlice | undefined): void {
  dirty.slice(name, objects.slices.get(name));
  dirty.slice(name, slice);
  objects.setSlice(name, slice);
}

export const entryHost = textCodec("EntryHost", "|", ["namespace", "host"]);

/** The keys that must be computed again after a change. */
export class Dirty {
  readonly services = new Set<ObjectName>();
  /** For workloads of the ambient mesh. */
  readonly pods = new Set<ObjectName>();
  readonly workloadEntries = new Set<ObjectName>();
  /** Kubernetes Services whose endpoints changed. */
  readonly endpoints = new Set<ObjectName>();
  readonly slices = new Set<ObjectName>();
  readonly entries = new Set<ObjectName>();
  /** Gateways of the Gateway API. */
  readonly gateways = new Set<ObjectName>();
  /** Of ServiceEntries. */
  readonly hosts = new Set<TextOf<typeof entryHost>>();
  /** Services of Consul by their text. */
  readonly consul = new Map<string, ConsulServiceKey>();
  /** Services of the registry file by their text. */
  readonly files = new Map<string, FileKey>();
  /** Something that every endpoint depends on, such as the trust domain. */
  everything = false;

  service(name: ObjectName): void {
    this.services.add(name);
    this.endpoints.add(name);
  }

  /** A Service with another selector, or none: pods and addresses of its slices belong to it or do not. */
  membership(name: ObjectName, objects: Objects): void {
    for (const slice of objects.slicesOfService.get(name)) this.slice(slice, objects.slices.get(slice));
  }

  slice(name: ObjectName, slice: KubeEndpointSlice | undefined): void {
    this.slices.add(name);
    const service = slice === undefined ? undefined : serviceOfSlice(slice);
    if (service !== undefined) this.endpoints.add(service);
    for (const { targetRef } of slice?.endpoints ?? [])
      if (targetRef?.kind === "Pod") this.pods.add(podOf(targetRef, namespaceOf(name)));
  }

  pod(name: ObjectName, pod: KubePod | undefined, objects: Objects): void {
    this.pods.add(name);
    const namespace = namespaceOf(name);
    const touched = new Set(objects.slicesOfPod.get(name));
    for (const address of addressesOf(pod?.status)) {
      for (const slice of objects.slicesOfAddress.get(`${namespace}|${address}`)) touched.add(slice);
    }
    for (const slice of touched) this.slice(slice, objects.slices.get(slice));
    this.selectors(namespace, pod?.metadata.labels ?? {}, objects);
  }

  node(name: string, objects: Objects): void {
    for (const pod of objects.podsOnNode.get(name)) this.pod(pod, objects.pods.get(pod), objects);
    for (const [service, { spec, metadata }] of objects.services) {
      const asksForNodes = metadata.annotations?.["traffic.istio.io/nodeSelector"] !== undefined;
      if (spec?.type === "NodePort" && asksForNodes) this.services.add(service);
    }
  }

  namespace(key: ConfigKey, pair: readonly (KubeObject | undefined)[], objects: Objects, system: string): void {
    const annotation = (name: string) => pair.map((object) => ownValue(object?.metadata.annotations, name));
    const [before, after] = annotation("networking.istio.io/traffic-distribution");
    const [share, nextShare] = annotation(waypointShareAnnotation);
    const [labels, nextLabels] = pair.map((object) => object?.metadata.labels);
    const isRelabelled = !equalJson(labels, nextLabels);
    // Callers of other clusters depend on the labels, and on the share of a second waypoint there.
    if (before !== after || share !== nextShare || isRelabelled)
      for (const service of objects.servicesIn.get(key.name)) this.services.add(service);
    if (isRelabelled) for (const pod of objects.podsIn.get(key.name)) this.pods.add(pod);
    if (before !== after) for (const entry of objects.entriesIn.get(key.name)) this.entries.add(entry);
    const [network, next] = pair.map((object) => object?.metadata.labels?.[networkLabel]);
    if (key.name === system && network !== next) this.everything = true;
  }

  entry(name: ObjectName, entry: Config | undefined): void {
    this.entries.add(name);
    for (const host of (entry?.spec as ServiceEntrySpec | undefined)?.hosts ?? []) {
      this.hosts.add(entryHost.write({ namespace: namespaceOf(name), host }));
    }
  }

  workloadEntry(name: ObjectName, labels: Labels, objects: Objects): void {
    const namespace = namespaceOf(name);
    this.workloadEntries.add(name);
    this.selectors(namespace, labels, objects);
    for (const service of objects.servicesIn.get(namespace)) {
      if (selects(objects.services.get(service)?.spec?.selector, labels)) this.endpoints.add(service);
    }
  }

  /** ServiceEntries of the namespace that select a workload of these labels. */
  selectors(namespace: string, labels: Labels, objects: Objects): void {
    for (const name of objects.entriesIn.get(namespace)) {
      const spec = objects.serviceEntries.get(name)?.spec as ServiceEntrySpec | undefined;
      if (!selects(spec?.workloadSelector?.labels, labels)) continue;
      for (const host of spec?.hosts ?? []) this.hosts.add(entryHost.write({ namespace, host }));
    }
  }

  all(objects: Objects): void {
    for (const name of objects.services.keys()) this.service(name);
    for (const name of objects.slices.keys()) this.slices.add(name);
    for (const name of objects.pods.keys()) this.pods.add(name);
    for (const name of objects.workloadEntries.keys()) this.workloadEntries.add(name);
    for (const [name, entry] of objects.serviceEntries) this.entry(name, entry);
  }
}

/** An empty or absent selector selects nothing: the owner of the service names its endpoints himself. */
export function selects(selector: Labels | undefined, labels: Labels): boolean {
  if (selector === undefined) return false;
  let some = false;
  for (const key in selector) {
    // own key: an inherited property equals no text
    if (labels[key] !== selector[key]) return false;
    some = true;
  }
  return some;
}

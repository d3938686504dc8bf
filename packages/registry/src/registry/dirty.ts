/** What has to be computed again after a change, and who that is for a given object. */
import type { Config, ConfigKey, KubeObject, Labels } from "@flotilla/model";
import type { ConsulServiceKey } from "../consul.ts";
import { networkLabel } from "../convert/endpoint-traits.ts";
import type { FileKey } from "../file/file-service.ts";
import type { KubeEndpointSlice, KubePod, ServiceEntrySpec } from "../kube.ts";
import { addressesOf, namespaceOf, type ObjectName, type Objects, serviceOfSlice } from "./objects.ts";

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
  /** `namespace|host` of ServiceEntries. */
  readonly hosts = new Set<string>();
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
      if (targetRef?.kind === "Pod") this.pods.add(`${targetRef.namespace ?? namespaceOf(name)}/${targetRef.name}`);
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
    const [before, after] = pair.map(
      (object) => object?.metadata.annotations?.["networking.istio.io/traffic-distribution"],
    );
    if (before !== after) {
      for (const service of objects.servicesIn.get(key.name)) this.services.add(service);
      for (const entry of objects.entriesIn.get(key.name)) this.entries.add(entry);
    }
    const [network, next] = pair.map((object) => object?.metadata.labels?.[networkLabel]);
    if (key.name === system && network !== next) this.everything = true;
  }

  entry(name: ObjectName, entry: Config | undefined): void {
    this.entries.add(name);
    for (const host of (entry?.spec as ServiceEntrySpec | undefined)?.hosts ?? []) {
      this.hosts.add(`${namespaceOf(name)}|${host}`);
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
      for (const host of spec?.hosts ?? []) this.hosts.add(`${namespace}|${host}`);
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
    // own key: what is inherited equals no text
    if (labels[key] !== selector[key]) return false;
    some = true;
  }
  return some;
}

/**
 * One changed object, put among those that are known: whatever depended on what it was, or depends on what it is, has to be
 * computed again.
 */
import type { Config, ConfigKey, KubeObject } from "@flotilla/model";
import { slicesOfEndpoints } from "../convert/endpoints-object.ts";
import { mergedWorkloadEntry } from "../convert/workload-entry.ts";
import type { KubeEndpointSlice, KubeNode, KubePod, KubeService } from "../kube.ts";
import type { RegistrySettings } from "../settings.ts";
import type { Dirty } from "./dirty.ts";
import { type Objects, setOrDelete } from "./objects.ts";

/** What is known, and what has to be computed again. */
export interface Intake {
  readonly objects: Objects;
  readonly dirty: Dirty;
}

/** An object of Kubernetes; `undefined`: it is gone. */
export function applyObject(
  intake: Intake,
  key: ConfigKey,
  object: KubeObject | undefined,
  { exportedOnly, systemNamespace }: Pick<RegistrySettings, "exportedOnly" | "systemNamespace">,
): void {
  const { objects, dirty } = intake;
  const name = `${key.namespace}/${key.name}`;
  switch (key.kind) {
    case "Service":
      objects.setService(name, object as KubeService | undefined);
      dirty.service(name);
      dirty.membership(name, objects);
      break;
    case "EndpointSlice":
      applySlice(intake, name, object as KubeEndpointSlice | undefined);
      break;
    case "Endpoints": {
      const slices = object === undefined ? [] : slicesOfEndpoints(object);
      const kept = new Set(slices.map(({ metadata }) => `${key.namespace}/${metadata.name}`));
      const before = [...objects.slicesOfService.get(name)].filter((slice) => slice.startsWith(`${name}~`));
      for (const slice of before) if (!kept.has(slice)) applySlice(intake, slice, undefined);
      for (const slice of slices) applySlice(intake, `${key.namespace}/${slice.metadata.name}`, slice);
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
      if (exportedOnly) dirty.service(name);
      break;
    case "Node":
      setOrDelete(objects.nodes, key.name, object as KubeNode | undefined);
      dirty.node(key.name, objects);
      break;
    case "Namespace": {
      const before = objects.namespaces.get(key.name);
      setOrDelete(objects.namespaces, key.name, object);
      dirty.namespace(key, [before, object], objects, systemNamespace);
      break;
    }
  }
}

/** By `namespace/name`, of machines too. */
export function applyWorkloadEntry({ objects, dirty }: Intake, name: string, config: Config | undefined): void {
  const before = objects.workloadEntries.get(name);
  if (before !== undefined) dirty.workloadEntry(name, mergedWorkloadEntry(before).labels ?? {}, objects);
  objects.setWorkloadEntry(name, config);
  if (config !== undefined) dirty.workloadEntry(name, mergedWorkloadEntry(config).labels ?? {}, objects);
}

/** A ServiceEntry, or what counts as one. */
export function applyEntry({ objects, dirty }: Intake, name: string, entry: Config | undefined): void {
  dirty.entry(name, objects.serviceEntries.get(name));
  objects.setServiceEntry(name, entry);
  dirty.entry(name, entry);
}

function applySlice({ objects, dirty }: Intake, name: string, slice: KubeEndpointSlice | undefined): void {
  dirty.slice(name, objects.slices.get(name));
  objects.setSlice(name, slice);
  dirty.slice(name, slice);
}

/**
 * ProxyConfig objects: settings of the proxies of a mesh (in the root namespace), a namespace or the workloads that a selector matches.
 * Source: istiod, corpus functions.
 */
import { type Config, compareByAge } from "../config/config.ts";
import { type Labels, matchesLabels } from "../config/selector.ts";
import { applyProxyConfig } from "./merge.ts";
import type { JsonObject } from "./mesh-config.ts";

interface ProxyConfigSpec {
  readonly selector?: { readonly matchLabels?: Labels };
  readonly concurrency?: number;
  readonly environmentVariables?: Readonly<Record<string, string>>;
  readonly image?: JsonObject;
}

/** Documents that override the mesh's own settings, as MeshConfig's `defaultConfig` has them. */
export interface ProxyConfigLayers {
  /** Of the mesh, then of the namespace: a pod's annotation overrides them. */
  readonly general: readonly JsonObject[];
  /** Of the workload: it overrides the annotation. */
  readonly ofWorkload: JsonObject | undefined;
}

export interface ProxyPlace {
  readonly rootNamespace: string;
  readonly namespace: string;
  readonly labels: Labels;
}

export const noProxyConfigs: ProxyConfigLayers = { general: [], ofWorkload: undefined };

/** Of several objects for the same the oldest counts. */
export function proxyConfigLayers(
  objects: Iterable<Config>,
  { rootNamespace, namespace, labels }: ProxyPlace,
): ProxyConfigLayers {
  const sorted = [...objects].sort(compareByAge).map(({ key, spec }) => ({ key, spec: spec as ProxyConfigSpec }));
  const general = [...new Set([rootNamespace, namespace])].flatMap((place) => {
    const found = sorted.find(({ key, spec }) => key.namespace === place && spec.selector === undefined);
    return found === undefined ? [] : [documentOf(found.spec)];
  });
  const ofWorkload = sorted.find(({ key, spec }) => {
    const selector = spec.selector?.matchLabels ?? {};
    return key.namespace === namespace && Object.keys(selector).length > 0 && matchesLabels(selector, labels);
  });
  return { general, ofWorkload: ofWorkload && documentOf(ofWorkload.spec) };
}

/** @param annotation the pod's own document */
export function effectiveProxyConfig(
  base: JsonObject,
  { general, ofWorkload }: ProxyConfigLayers,
  annotation?: JsonObject,
): JsonObject {
  const documents = [...general, ...(annotation ? [annotation] : []), ...(ofWorkload ? [ofWorkload] : [])];
  return documents.reduce(applyProxyConfig, base);
}

function documentOf({ concurrency, environmentVariables, image }: ProxyConfigSpec): JsonObject {
  return {
    ...(concurrency !== undefined && { concurrency }),
    ...(environmentVariables !== undefined && { proxyMetadata: environmentVariables }),
    ...(image !== undefined && { image }),
  };
}

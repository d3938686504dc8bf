/** Is a pod to be injected? The pod's own word counts first, then the selectors of the configuration, then its policy. */

import { isEmptySelector, type LabelSelector, matchesSelector } from "@flotilla/model";
import { names } from "./annotations.ts";
import type { InjectionConfig } from "./config.ts";
import type { Pod, Texts } from "./pod.ts";

export interface Decision {
  readonly inject: boolean;
  /** From a closed set: it is a label of a metric. */
  readonly reason:
    | "host network"
    | "ignored namespace"
    | "asked by the pod"
    | "refused by the pod"
    | "never-inject selector"
    | "always-inject selector"
    | "policy";
}

/** System namespaces: a mesh must not stand between Kubernetes and itself. */
const ignoredNamespaces: ReadonlySet<string> = new Set([
  "kube-system",
  "kube-public",
  "kube-node-lease",
  "local-path-storage",
]);

export function decide(pod: Pod, namespace: string, config: InjectionConfig): Decision {
  const { metadata, spec } = pod;
  // Its proxy would capture the traffic of the node.
  if (spec.hostNetwork === true) return { inject: false, reason: "host network" };
  if (ignoredNamespaces.has(metadata.namespace || namespace)) return { inject: false, reason: "ignored namespace" };
  const { labels = {}, annotations = {} } = metadata;
  const { inject, reason } = byWord(labels[names.inject] ?? annotations[names.inject]) ?? bySelector(labels, config);
  // A policy that is off takes the pod's own request, and nothing else.
  if (reason === "policy") return { inject: config.policy === "enabled", reason };
  return config.policy === "enabled" || config.policy === "disabled"
    ? { inject, reason }
    : { inject: false, reason: "policy" };
}

/** Other words count as none, and `checkAnnotations` warns of them. */
function byWord(word: string | undefined): Decision | undefined {
  if (word === "true") return { inject: true, reason: "asked by the pod" };
  return word === "false" ? { inject: false, reason: "refused by the pod" } : undefined;
}

function bySelector(labels: Texts, { neverInject, alwaysInject }: InjectionConfig): Decision {
  const matches = (selector: LabelSelector): boolean => !isEmptySelector(selector) && matchesSelector(selector, labels);
  if (neverInject.some(matches)) return { inject: false, reason: "never-inject selector" };
  if (alwaysInject.some(matches)) return { inject: true, reason: "always-inject selector" };
  return { inject: false, reason: "policy" };
}

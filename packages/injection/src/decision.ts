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
  const word = (labels[names.inject] ?? annotations[names.inject] ?? "").toLowerCase();
  const { inject, reason } = word === "" ? bySelector(labels, config) : byWord(word);
  // A policy that is off takes the pod's own request, and nothing else.
  if (reason === "policy") return { inject: config.policy === "enabled", reason };
  return config.policy === "enabled" || config.policy === "disabled"
    ? { inject, reason }
    : { inject: false, reason: "policy" };
}

function byWord(word: string): Decision {
  const asks = ["y", "yes", "true", "on"].includes(word);
  return { inject: asks, reason: asks ? "asked by the pod" : "refused by the pod" };
}

function bySelector(labels: Texts, { neverInject, alwaysInject }: InjectionConfig): Decision {
  const matches = (selector: LabelSelector): boolean => !isEmptySelector(selector) && matchesSelector(selector, labels);
  if (neverInject.some(matches)) return { inject: false, reason: "never-inject selector" };
  if (alwaysInject.some(matches)) return { inject: true, reason: "always-inject selector" };
  return { inject: false, reason: "policy" };
}

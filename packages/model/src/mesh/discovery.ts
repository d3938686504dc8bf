/**
 * Namespaces that the control plane reads: MeshConfig's discoverySelectors, over the labels of the Namespace objects.
 *
 * Matched to istiod as it runs: any of the selectors is enough; no namespace is exempt, neither the system's nor the root namespace; one
 * without a Namespace object has no labels to be selected by; objects without a namespace are always read.
 */
import { type LabelSelector, matchesSelector, selectorFinding } from "../config/label-selector.ts";
import type { Labels } from "../config/selector.ts";

export type DiscoverySelectors =
  | { readonly selectors: readonly LabelSelector[] }
  | { readonly field: string; readonly reason: string };

/** Of a MeshConfig's spec. One invalid selector invalidates them all: the selectors in force stay. */
export function discoverySelectors(meshSpec: unknown): DiscoverySelectors {
  const selectors = (meshSpec as { readonly discoverySelectors?: unknown } | undefined)?.discoverySelectors ?? [];
  if (!Array.isArray(selectors)) return { field: "discoverySelectors", reason: "is no list of selectors" };
  for (const [index, selector] of selectors.entries()) {
    const finding = selectorFinding(selector as LabelSelector);
    if (finding !== undefined) {
      const { field, reason } = finding;
      return { field: `discoverySelectors[${index}].${field}`, reason };
    }
  }
  return { selectors: selectors as readonly LabelSelector[] };
}

/** `labels` are those of its Namespace object, undefined without one. No selectors: everything is read. */
export function isDiscovered(
  selectors: readonly LabelSelector[],
  namespace: string,
  labels: Labels | undefined,
): boolean {
  if (selectors.length === 0) return true;
  if (labels === undefined) return false;
  // Kubernetes gives every namespace this label; one that was read from a file may lack it.
  const all = { "kubernetes.io/metadata.name": namespace, ...labels };
  return selectors.some((selector) => matchesSelector(selector, all));
}

/** Label selection as Istio's workload selectors have it: every label named must be there with that value. */
export type Labels = Readonly<Record<string, string>>;

/** An empty selector matches everything. */
export function matchesLabels(selector: Labels, labels: Labels): boolean {
  // own key: an inherited property equals no text
  for (const name in selector) if (labels[name] !== selector[name]) return false;
  return true;
}

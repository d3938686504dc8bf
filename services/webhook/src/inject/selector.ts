/** Kubernetes' label selectors. */
import type { Texts } from "./pod.ts";

export interface LabelSelector {
  readonly matchLabels?: Texts;
  readonly matchExpressions?: readonly {
    readonly key: string;
    readonly operator: string;
    readonly values?: readonly string[];
  }[];
}

export function isEmptySelector({ matchLabels = {}, matchExpressions = [] }: LabelSelector): boolean {
  return Object.keys(matchLabels).length === 0 && matchExpressions.length === 0;
}

/** Every part must hold; an unknown operator holds never. */
export function matchesSelector({ matchLabels = {}, matchExpressions = [] }: LabelSelector, labels: Texts): boolean {
  if (Object.entries(matchLabels).some(([name, value]) => labels[name] !== value)) return false;
  return matchExpressions.every(({ key, operator, values = [] }) => {
    const value = labels[key];
    switch (operator) {
      case "In":
        return value !== undefined && values.includes(value);
      case "NotIn":
        return value === undefined || !values.includes(value);
      case "Exists":
        return value !== undefined;
      case "DoesNotExist":
        return value === undefined;
      default:
        return false;
    }
  });
}

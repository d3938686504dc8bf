/** Kubernetes' label selectors. */
import { ownValue } from "../json/own-value.ts";
import type { Labels } from "./selector.ts";

export interface LabelSelector {
  readonly matchLabels?: Labels;
  readonly matchExpressions?: readonly {
    readonly key: string;
    readonly operator: string;
    readonly values?: readonly string[];
  }[];
}

export function isEmptySelector({ matchLabels = {}, matchExpressions = [] }: LabelSelector): boolean {
  return Object.keys(matchLabels).length === 0 && matchExpressions.length === 0;
}

/** Every part must hold, so an empty one matches everything; an unknown operator holds never. */
export function matchesSelector({ matchLabels = {}, matchExpressions = [] }: LabelSelector, labels: Labels): boolean {
  if (Object.entries(matchLabels).some(([name, value]) => ownValue(labels, name) !== value)) return false;
  return matchExpressions.every(({ key, operator, values = [] }) => {
    const value = ownValue(labels, key);
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

/** The first thing that Kubernetes would refuse about the selector, with the field within it; undefined: nothing. */
export function selectorFinding({
  matchExpressions = [],
}: LabelSelector): { readonly field: string; readonly reason: string } | undefined {
  for (const [index, { key, operator, values = [] }] of matchExpressions.entries()) {
    const at = `matchExpressions[${index}]`;
    if (!key) return { field: `${at}.key`, reason: "is empty" };
    const isSet = operator === "In" || operator === "NotIn";
    if (!isSet && operator !== "Exists" && operator !== "DoesNotExist") {
      return { field: `${at}.operator`, reason: `"${operator}" is none of In, NotIn, Exists, DoesNotExist` };
    }
    if (isSet && values.length === 0) return { field: `${at}.values`, reason: `is empty, and ${operator} needs some` };
    if (!isSet && values.length > 0) return { field: `${at}.values`, reason: `has values, and ${operator} takes none` };
  }
  return undefined;
}

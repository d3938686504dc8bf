/** The service that a workload belongs to for telemetry, and its revision, by the labels that name them. */

import type { Labels } from "../config/selector.ts";
import { ownValue } from "../json/own-value.ts";

export const canonicalNameLabel = "service.istio.io/canonical-name";
export const canonicalRevisionLabel = "service.istio.io/canonical-revision";

/** @param otherwise the name where no label has one */
export function canonicalName(labels: Labels, otherwise: string): string {
  return (
    ownValue(labels, canonicalNameLabel) ||
    ownValue(labels, "app.kubernetes.io/name") ||
    ownValue(labels, "app") ||
    otherwise
  );
}

export function canonicalRevision(labels: Labels): string {
  return (
    ownValue(labels, canonicalRevisionLabel) ||
    ownValue(labels, "app.kubernetes.io/version") ||
    ownValue(labels, "version") ||
    "latest"
  );
}

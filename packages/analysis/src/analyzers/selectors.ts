/** Sidecars and Telemetries that select no pod, or the same ones as another. */
import { compareText, type Labels, matchesLabels } from "@flotilla/model";
import { type Field, field, fieldAt, isSet } from "@flotilla/validation/field";
import type { Analyzer, Mesh } from "../analyzer.ts";
import { type Finding, finding } from "../finding.ts";
import type { MeshObject } from "../mesh-object.ts";
import {
  isAmbientNamespace,
  isAmbientPod,
  labelsOf,
  podsByLabel,
  selectedPods,
  selectorText,
} from "../shared/workloads.ts";

/** The counterpart of istioctl's sidecar.SelectorAnalyzer. */
export const sidecarSelectors: Analyzer = {
  name: "sidecar-selectors",
  summary: "Sidecars that select no pod, or the same as another",
  messages: [
    "ReferencedResourceNotFound",
    "ConflictingSidecarSelectors",
    "MultipleSidecarsWithoutSelector",
    "IneffectivePolicy",
  ],
  checks: ["Sidecar"],
  reads: ["Namespace", "Pod"],
  indexes: [podsByLabel],
  check: (sidecar, mesh) => {
    const at = fieldAt(sidecar.spec, "workloadSelector", "labels");
    const labels = labelsOf(at) ?? {};
    if (Object.keys(labels).length === 0) return namespaceFindings(sidecar, mesh);
    const pods = selectedPods(mesh, labels, sidecar.key.namespace);
    if (pods.length === 0) return [withoutPods(sidecar, at, labels)];
    const ambient = pods.some(isAmbientPod)
      ? [finding("IneffectivePolicy", sidecar, at, { reason: "a pod that it selects is in ambient mode" })]
      : [];
    const others = mesh.within("Sidecar", sidecar.key.namespace);
    const rivals = rivalsOf(
      others,
      ({ spec }) => fieldAt(spec, "workloadSelector", "labels"),
      pods.filter((pod) => !isAmbientPod(pod)),
    );
    return [
      ...ambient,
      ...rivals.map(({ names, pod }) =>
        finding("ConflictingSidecarSelectors", sidecar, at, { sidecars: names, ...pod }),
      ),
    ];
  },
};

function namespaceFindings(sidecar: MeshObject, mesh: Mesh): readonly Finding[] {
  const { namespace } = sidecar.key;
  if (isAmbientNamespace(mesh.find("Namespace", "", namespace)))
    return [finding("IneffectivePolicy", sidecar, undefined, { reason: "its namespace is in ambient mode" })];
  const isForAll = ({ spec }: MeshObject) =>
    Object.keys(labelsOf(fieldAt(spec, "workloadSelector", "labels")) ?? {}).length === 0;
  const same = mesh.within("Sidecar", namespace).filter(isForAll);
  return same.length < 2
    ? []
    : [finding("MultipleSidecarsWithoutSelector", sidecar, undefined, { sidecars: namesOf(same), namespace })];
}

function withoutPods(object: MeshObject, at: Field, labels: Labels): Finding {
  const name = selectorText(labels);
  return finding("ReferencedResourceNotFound", object, at, { what: "a pod with the labels", name, suggestion: "" });
}

/** The pods that several objects select, each with the names of those objects. */
function rivalsOf(
  objects: readonly MeshObject[],
  selectorAt: (object: MeshObject) => Field,
  pods: readonly MeshObject[],
) {
  const selectors = objects.flatMap((object) => {
    const labels = labelsOf(selectorAt(object)) ?? {};
    return Object.keys(labels).length === 0 ? [] : [{ object, selector: labels }];
  });
  return pods.flatMap(({ key: { namespace, name }, labels }) => {
    const selecting = selectors.filter(({ selector }) => matchesLabels(selector, labels));
    const names = namesOf(selecting.map(({ object }) => object));
    return selecting.length < 2 ? [] : [{ names, pod: { namespace, pod: name } }];
  });
}

function namesOf(objects: readonly MeshObject[]): string {
  return objects
    .map(({ key }) => key.name)
    .sort(compareText)
    .join(", ");
}

/** The counterpart of istioctl's telemetry.SelectorAnalyzer. */
export const telemetrySelectors: Analyzer = {
  name: "telemetry-selectors",
  summary: "Telemetries that select no pod, or the same as another",
  messages: ["ReferencedResourceNotFound", "ConflictingTelemetrySelectors"],
  checks: ["Telemetry"],
  reads: ["Pod"],
  indexes: [podsByLabel],
  check: (telemetry, mesh) => {
    const selectorAt = ({ spec }: MeshObject) => fieldAt(spec, "selector", "matchLabels");
    const at = selectorAt(telemetry);
    const labels = labelsOf(at) ?? {};
    if (Object.keys(labels).length === 0) return [];
    const pods = selectedPods(mesh, labels, telemetry.key.namespace);
    if (pods.length === 0) return [withoutPods(telemetry, at, labels)];
    const rivals = rivalsOf(mesh.within("Telemetry", telemetry.key.namespace), selectorAt, pods);
    return rivals.map(({ names, pod }) =>
      finding("ConflictingTelemetrySelectors", telemetry, at, { telemetries: names, ...pod }),
    );
  },
};

/** The counterpart of istioctl's telemetry.DefaultSelectorAnalyzer. */
export const namespaceTelemetries: Analyzer = {
  name: "namespace-telemetries",
  summary: "namespaces with several Telemetries for all of their workloads",
  messages: ["MultipleTelemetriesWithoutSelector"],
  checks: ["Telemetry"],
  reads: [],
  check: (telemetry, mesh) => {
    const { namespace } = telemetry.key;
    const isForAll = ({ spec }: MeshObject) => !isSet(field(spec, "selector"));
    const same = isForAll(telemetry) ? mesh.within("Telemetry", namespace).filter(isForAll) : [];
    return same.length < 2
      ? []
      : [
          finding("MultipleTelemetriesWithoutSelector", telemetry, undefined, {
            telemetries: namesOf(same),
            namespace,
          }),
        ];
  },
};

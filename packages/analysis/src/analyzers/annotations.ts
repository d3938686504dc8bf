/** Annotations of Istio on Kubernetes' own objects: known, at the right place, with a value that can be followed. */
import { checkAnnotations } from "@flotilla/injection/annotations";
import { nearestName, ownValue } from "@flotilla/model";
import { field, items, textOf } from "@flotilla/validation/field";
import type { Analyzer } from "../analyzer.ts";
import { type Finding, finding } from "../finding.ts";
import type { MeshObject } from "../mesh-object.ts";
import { suggestion } from "../shared/hosts.ts";
import { isAnnotationOfMesh, type KnownAnnotation, knownAnnotations } from "./annotation-table.ts";

const kinds = ["Deployment", "Namespace", "Pod", "Service"] as const;

/** The counterpart of istioctl's annotations.K8sAnalyzer. */
export const annotations: Analyzer = {
  name: "annotations",
  summary: "annotations that are unknown, misplaced, deprecated or have wrong values",
  messages: ["UnknownAnnotation", "DeprecatedAnnotation", "MisplacedAnnotation", "InvalidAnnotation"],
  checks: kinds,
  reads: [],
  check: (object) => Object.keys(object.annotations).flatMap((name) => checkAnnotation(object, name)),
};

/** Set by control planes and node agents, not by users. */
const setByControllers: ReadonlySet<string> = new Set([
  "gateway.istio.io/controller-version",
  "istio.io/rev",
  "sidecar.istio.io/status",
]);

function checkAnnotation(object: MeshObject, annotation: string): readonly Finding[] {
  if (!isAnnotationOfMesh(annotation) || setByControllers.has(annotation)) return [];
  const at = place(object, annotation);
  const known = knownAnnotations.get(annotation);
  if (known === undefined) {
    const near = suggestion(nearestName(annotation, [...knownAnnotations.keys()]));
    return [finding("UnknownAnnotation", object, at, { annotation, suggestion: near })];
  }
  const hasLabel = annotation === injectName && object.labels[injectName] !== undefined;
  const old =
    known.isDeprecated && !hasLabel
      ? [finding("DeprecatedAnnotation", object, at, { annotation, instead: insteadOf(annotation) })]
      : [];
  return [...old, ...misuse(object, annotation, known)];
}

const injectName = "sidecar.istio.io/inject";

function insteadOf(annotation: string): string {
  return annotation === injectName ? `: use the label ${injectName}` : "";
}

function misuse(object: MeshObject, annotation: string, { kinds: fits }: KnownAnnotation): readonly Finding[] {
  const at = place(object, annotation);
  if (fits.includes("Any")) return [];
  if (!fits.includes(object.key.kind))
    return [finding("MisplacedAnnotation", object, at, { annotation, kinds: fits.join(", ") })];
  const value = ownValue(object.annotations, annotation) ?? "";
  return checkAnnotations({ [annotation]: value }).map(({ reason }) =>
    finding("InvalidAnnotation", object, at, { annotation, reason }),
  );
}

function place({ whole }: MeshObject, annotation: string) {
  return { value: undefined, path: `${field(field(whole, "metadata"), "annotations").path}[${annotation}]` };
}

/** The counterpart of istioctl's annotations.AlphaAnalyzer. */
export const alphaAnnotations: Analyzer = {
  name: "alpha-annotations",
  summary: "annotations of experimental features",
  messages: ["AlphaAnnotation"],
  checks: kinds,
  reads: [],
  isOptional: true,
  check: (object) =>
    Object.keys(object.annotations)
      .filter(
        (name) =>
          knownAnnotations.get(name)?.isAlpha === true &&
          !setByControllers.has(name) &&
          !isSetByNodeAgent(object, name),
      )
      .map((annotation) => finding("AlphaAnnotation", object, place(object, annotation), { annotation })),
};

const nodeAgentAnnotations: ReadonlySet<string> = new Set([
  "sidecar.istio.io/interceptionMode",
  "traffic.sidecar.istio.io/excludeInboundPorts",
  "traffic.sidecar.istio.io/includeInboundPorts",
  "traffic.sidecar.istio.io/includeOutboundIPRanges",
]);

/** Pods without an init container that redirects traffic get these annotations from injection, for the node agent to read. */
function isSetByNodeAgent({ key, spec }: MeshObject, annotation: string): boolean {
  if (key.kind !== "Pod" || !nodeAgentAnnotations.has(annotation)) return false;
  return !items(spec, "initContainers").some((one) => textOf(field(one, "name")) === "istio-init");
}

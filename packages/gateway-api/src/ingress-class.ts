/** Which Ingresses the mesh serves, as istiod decides it. */

/** Of MeshConfig. */
export interface IngressSettings {
  readonly ingressControllerMode?: string;
  readonly ingressClass?: string;
  readonly ingressService?: string;
  readonly ingressSelector?: string;
}

export interface ClassedIngress {
  readonly annotations: Readonly<Record<string, string>>;
  readonly ingressClassName: string | undefined;
}

const classAnnotation = "kubernetes.io/ingress.class";
const controller = "istio.io/ingress-controller";

/** The annotation counts before the class; with neither only the mode DEFAULT takes it. `controllerOf`: of an IngressClass. */
export function isServedIngress(
  { annotations, ingressClassName }: ClassedIngress,
  controllerOf: (className: string) => string | undefined,
  { ingressControllerMode: mode = "STRICT", ingressClass = "istio" }: IngressSettings,
): boolean {
  const annotation = annotations[classAnnotation];
  if (annotation !== undefined) {
    if (mode === "OFF") return false;
    return annotation === ingressClass || (mode === "DEFAULT" && annotation === "");
  }
  const named = controllerOf(ingressClassName ?? "");
  return named === undefined ? mode === "DEFAULT" : named === controller;
}

/** Messages on injection: namespaces, pods, images and annotations. */
import type { Message } from "./message.ts";

export const injectionMessages = {
  NamespaceNotInjected: {
    code: "IST0102",
    level: "Info",
    template:
      "pods of namespace {namespace} get no sidecar: label it istio-injection=enabled, or istio-injection=disabled if it needs none",
    description:
      "The namespace has neither a label for injection nor one for ambient mode, so it is not known whether it is part of the mesh.",
  },
  PodMissingProxy: {
    code: "IST0103",
    level: "Warning",
    template: "pod {pod} has no sidecar although its namespace is injected: restart its workload",
    description: "The pod was made before its namespace was labelled, or while the webhook was unreachable.",
  },
  MisplacedAnnotation: {
    code: "IST0107",
    level: "Warning",
    template: "annotation {annotation} has no effect here: it belongs to {kinds}",
    description: "Annotations of pods stand in a Deployment's template, not in its own metadata.",
  },
  UnknownAnnotation: {
    code: "IST0108",
    level: "Warning",
    template: "annotation {annotation} is unknown{suggestion}",
    description: "No annotation of Istio has this name: it is probably misspelt.",
  },
  NamespaceMultipleInjectionLabels: {
    code: "IST0123",
    level: "Warning",
    template: "labels {labels} contradict each other: keep one of them",
    description: "A namespace is in the mesh by sidecars, by sidecars of one revision, or by ambient mode.",
  },
  InvalidAnnotation: {
    code: "IST0125",
    level: "Warning",
    template: "annotation {annotation}: {reason}",
    description: "The value cannot be followed. Injection refuses the pod or ignores the annotation.",
  },
  DeprecatedAnnotation: {
    code: "IST0135",
    level: "Info",
    template: "annotation {annotation} is deprecated{instead}",
    description: "The annotation may have no effect in later versions.",
  },
  AlphaAnnotation: {
    code: "IST0136",
    level: "Info",
    template: "annotation {annotation} is of an experimental feature",
    description: "The annotation may change or go away. The analyzer alpha-annotations has to be asked for by name.",
  },
  InvalidApplicationUid: {
    code: "IST0144",
    level: "Warning",
    template: "user 1337 is the proxy's: traffic of containers that run as it is not captured",
    description: "Rules that redirect traffic spare the proxy's user. Run the application as another one.",
  },
  ImageAutoWithoutInjectionWarning: {
    code: "IST0146",
    level: "Warning",
    template: "{kind} {name} has a proxy with image auto, and no injection webhook selects its pods",
    description: "Injection replaces the image auto. Pods that it leaves alone cannot start.",
  },
  ImageAutoWithoutInjectionError: {
    code: "IST0147",
    level: "Error",
    template: "{kind} {name} has a proxy with image auto that injection has not replaced",
    description: "The pod was made without injection, and its proxy cannot start.",
  },
  NamespaceInjectionEnabledByDefault: {
    code: "IST0148",
    level: "Info",
    template:
      "pods get a sidecar although the namespace has no label for injection: the installation has enableNamespacesByDefault",
    description: "Label the namespace istio-injection=disabled if its pods should get none.",
  },
  ProxyImageMismatch: {
    code: "IST0158",
    level: "Warning",
    template: "pods with another proxy image than injection gives: {pods}",
    description: "Pods that were made before an upgrade keep their old proxy. Restart their workloads.",
  },
} as const satisfies Readonly<Record<string, Message>>;

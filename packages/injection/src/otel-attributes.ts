/**
 * The resource attributes that OpenTelemetry's conventions require of a Kubernetes workload, for tracing providers that use them. Source:
 * corpus inject, hello-otel-semconv.
 */
import { rawOf } from "./go-view.ts";
import type { Container, Json, Texts } from "./pod.ts";

const annotationPrefix = "resource.opentelemetry.io/";

/** `name=value,…`; empty when no provider of the mesh enriches its service. */
export function otelResourceAttributes(
  mesh: unknown,
  annotations: unknown,
  labels: unknown,
  namespace: unknown,
  containers: unknown,
): string {
  if (!wantsAttributes(rawOf(mesh) as Json | null)) return "";
  const all = (rawOf(containers) ?? []) as readonly Container[];
  const [first] = all;
  const space = String(rawOf(namespace) ?? "");
  const version = texts(labels)["app.kubernetes.io/version"] || (all.length === 1 ? versionOfImage(first?.image) : "");
  // The name of the pod is not known yet: the kubelet puts it in.
  const instance = first === undefined ? "" : `${space}.$(POD_NAME).${first.name}`;
  const attributes = [
    ["service.namespace", space],
    ["service.version", version],
    ["service.instance.id", instance],
  ] as const;
  const own = texts(annotations);
  return attributes
    .map(([name, found]) => [name, own[`${annotationPrefix}${name}`] || found] as const)
    .filter(([, value]) => value !== "")
    .map(([name, value]) => `${name}=${value}`)
    .join(",");
}

/** Tag and digest of `registry:5000/name:tag@digest`. */
function versionOfImage(image = ""): string {
  const at = image.indexOf("@");
  const name = at === -1 ? image : image.slice(0, at);
  const digest = at === -1 ? "" : image.slice(at + 1);
  const colon = name.lastIndexOf(":");
  const tag = colon > name.lastIndexOf("/") ? name.slice(colon + 1) : "";
  return [tag, digest].filter((part) => part !== "").join("@");
}

function wantsAttributes(mesh: Json | null): boolean {
  const providers = (mesh?.["extensionProviders"] ?? []) as readonly Json[];
  return providers.some((provider) => {
    const tracing = provider["opentelemetry"] as Json | undefined;
    return tracing?.["serviceAttributeEnrichment"] === "OTEL_SEMANTIC_CONVENTIONS";
  });
}

function texts(value: unknown): Texts {
  return (rawOf(value) ?? {}) as Texts;
}

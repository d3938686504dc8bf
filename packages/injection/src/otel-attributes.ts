/**
 * The resource attributes that OpenTelemetry's conventions ask of a Kubernetes workload, for tracing providers that want them.
 * Source: corpus inject, hello-otel-semconv.
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
  const own = texts(annotations);
  const said = Object.entries(own).filter(([name]) => name.startsWith(annotationPrefix));
  const given = new Map(said.map(([name, value]) => [name.slice(annotationPrefix.length), value]));
  const [app] = ((rawOf(containers) ?? []) as readonly Container[]).filter(({ name }) => name !== "istio-proxy");
  const space = String(rawOf(namespace) ?? "");
  const version = texts(labels)["app.kubernetes.io/version"];
  if (space !== "") set(given, "service.namespace", space);
  if (version !== undefined && version !== "") set(given, "service.version", version);
  if (app !== undefined) set(given, "service.instance.id", `${space}.$(POD_NAME).${app.name}`);
  const order = ["service.namespace", "service.version", "service.instance.id"];
  const rest = [...given.keys()].filter((name) => !order.includes(name)).sort();
  return [...order.filter((name) => given.has(name)), ...rest].map((name) => `${name}=${given.get(name)}`).join(",");
}

function wantsAttributes(mesh: Json | null): boolean {
  const providers = (mesh?.["extensionProviders"] ?? []) as readonly Json[];
  return providers.some((provider) => {
    const tracing = provider["opentelemetry"] as Json | undefined;
    return tracing?.["serviceAttributeEnrichment"] === "OTEL_SEMANTIC_CONVENTIONS";
  });
}

/** What the pod says itself stays. */
function set(attributes: Map<string, string>, name: string, value: string): void {
  if (!attributes.has(name)) attributes.set(name, value);
}

function texts(value: unknown): Texts {
  return (rawOf(value) ?? {}) as Texts;
}

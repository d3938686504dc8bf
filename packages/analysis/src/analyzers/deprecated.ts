/** Fields, kinds and providers that are ignored or about to go. */
import { field, fieldAt, isSet, items, numberOf, textOf } from "@flotilla/validation/field";
import type { Analyzer, Mesh } from "../analyzer.ts";
import { type Finding, finding, oncePerText } from "../finding.ts";
import type { MeshObject } from "../mesh-object.ts";
import { meshConfig } from "../shared/settings.ts";

/** The counterpart of istioctl's deprecation.DeprecationAnalyzer and telemetry.LightstepAnalyzer. */
export const deprecated: Analyzer = {
  name: "deprecated",
  summary: "fields, kinds and providers that are ignored or about to go",
  messages: ["Deprecated"],
  checks: ["CustomResourceDefinition", "Sidecar", "Telemetry", "VirtualService"],
  reads: ["MeshConfig"],
  check: (object, mesh) => oncePerText(deprecatedParts(object, mesh)),
};

function deprecatedParts(object: MeshObject, mesh: Mesh): readonly Finding[] {
  switch (object.key.kind) {
    case "CustomResourceDefinition":
      return removedKinds(object);
    case "Sidecar":
      return egressProxies(object);
    case "Telemetry":
      return lightstepProviders(object, mesh);
    default:
      return delayPercents(object);
  }
}

const kindsOfRbac: ReadonlySet<string> = new Set([
  "ClusterRbacConfig",
  "RbacConfig",
  "ServiceRole",
  "ServiceRoleBinding",
]);

function removedKinds(definition: MeshObject): readonly Finding[] {
  const kind = textOf(fieldAt(definition.spec, "names", "kind"));
  if (textOf(field(definition.spec, "group")) !== "rbac.istio.io" || !kindsOfRbac.has(kind)) return [];
  const values = { what: `kind ${kind} of rbac.istio.io`, instead: "it was removed, use AuthorizationPolicy" };
  return [finding("Deprecated", definition, undefined, values)];
}

function egressProxies(sidecar: MeshObject): readonly Finding[] {
  const proxy = fieldAt(sidecar.spec, "outboundTrafficPolicy", "egressProxy");
  return isSet(proxy)
    ? [finding("Deprecated", sidecar, proxy, { what: "outboundTrafficPolicy.egressProxy", instead: "it is ignored" })]
    : [];
}

function delayPercents(service: MeshObject): readonly Finding[] {
  return items(service.spec, "http")
    .map((route) => fieldAt(route, "fault", "delay", "percent"))
    .filter((percent) => numberOf(percent) > 0)
    .map((percent) =>
      finding("Deprecated", service, percent, { what: "fault.delay.percent", instead: "use percentage" }),
    );
}

function lightstepProviders(telemetry: MeshObject, mesh: Mesh): readonly Finding[] {
  const used = items(telemetry.spec, "tracing").flatMap((tracing) => items(tracing, "providers"));
  if (used.length === 0) return [];
  const providers = items(meshConfig(mesh), "extensionProviders").filter((one) => isSet(field(one, "lightstep")));
  const names = new Set(providers.map((one) => textOf(field(one, "name"))));
  return used
    .map((provider) => field(provider, "name"))
    .filter((name) => names.has(textOf(name)))
    .map((name) =>
      finding("Deprecated", telemetry, name, {
        what: `the Lightstep provider ${textOf(name)}`,
        instead: "use OpenTelemetry",
      }),
    );
}

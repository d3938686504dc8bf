/** Objects deployed for a Gateway: the template of its class, rendered, with the user's changes. */
import type { GatewayClassRules } from "@flotilla/gateway-api";
import { zero } from "@flotilla/gotemplate";
import { parseAllDocuments } from "yaml";
import type { InjectionConfig } from "../config.ts";
import { InjectionError } from "../errors.ts";
import { GoView } from "../go-view.ts";
import { proxyIds } from "../openshift.ts";
import type { Json, Texts } from "../pod.ts";
import { proxyImage } from "../proxy-config.ts";
import { execute } from "../render.ts";
import type { InjectionEnvironment } from "../request.ts";
import { meshConfigView, proxyConfigView } from "../template-data.ts";
import { customize } from "./customize.ts";
import { annotations, deployedNames, type GatewayListener, type KubeGateway } from "./gateway.ts";
import { servicePorts } from "./service-ports.ts";

export interface ManagedGatewayInputs {
  readonly gateway: KubeGateway;
  readonly rules: GatewayClassRules;
  /** Of the ListenerSets that the Gateway allows. */
  readonly otherListeners: readonly GatewayListener[];
  /** Data of ConfigMaps: defaults of the class, then what the Gateway names. */
  readonly overlays: readonly Texts[];
  readonly namespaceAnnotations: Texts;
  /** Complete, with defaults. */
  readonly mesh: Json;
  /** Of this Gateway's proxies. */
  readonly proxyConfig: Json;
}

export interface ManagedGatewaySettings extends InjectionEnvironment {
  readonly clusterId: string;
  /** Of the API server, as 133 for 1.33. */
  readonly kubernetesVersion: number;
  /** Labels and annotations of the Gateway are copied where `spec.infrastructure` has none. */
  readonly copiesMetadata: boolean;
  readonly quic: boolean;
  /** Ambient capture is switched off unless configured otherwise. */
  readonly waypoints: boolean;
}

/** Owned by the Gateway controller, in the order in which they are applied. @throws InjectionError INJECT_BAD_GATEWAY, INJECT_TEMPLATE_FAILED */
export function renderGateway(
  inputs: ManagedGatewayInputs,
  { templates, values }: Pick<InjectionConfig, "templates" | "values">,
  settings: ManagedGatewaySettings,
): readonly Json[] {
  const { gateway, rules, overlays } = inputs;
  const name = rules.template ?? "";
  const template = templates.get(name);
  if (template === undefined)
    throw new InjectionError("INJECT_BAD_CONFIG", `there is no template ${JSON.stringify(name)}`);
  const names = deployedNames(gateway, rules);
  const text = execute(template, name, gatewayData(inputs, values, settings));
  return documentsOf(text, name).flatMap((object) => {
    checkPlace(object, gateway, Object.values(names));
    const changed = customize(object, overlays);
    return changed === undefined ? [] : [withManagedLabel(changed, rules.managedLabel)];
  });
}

/** Before 1.24, pods were selected by another label, and a selector cannot be changed. */
export function keepSelector<T extends { readonly spec?: unknown }>(deployment: T, existing: T | undefined): T {
  const label = "istio.io/gateway-name";
  const { selector, template: running } = (existing?.spec ?? {}) as {
    readonly selector?: { readonly matchLabels?: Texts };
    readonly template?: { readonly metadata?: { readonly labels?: Texts } };
  };
  if (!selector?.matchLabels?.[label]) return deployment;
  const spec = deployment.spec as { readonly template: { readonly metadata: { readonly labels: Texts } } };
  const labels = { ...spec.template.metadata.labels, [label]: running?.metadata?.labels?.[label] ?? "" };
  const template = { ...spec.template, metadata: { ...spec.template.metadata, labels } };
  return { ...deployment, spec: { ...spec, selector, template } };
}

function gatewayData(inputs: ManagedGatewayInputs, values: Json, settings: ManagedGatewaySettings): Json {
  const { gateway, rules, otherListeners, namespaceAnnotations, mesh, proxyConfig } = inputs;
  const { metadata, spec } = gateway;
  const own = metadata.annotations ?? {};
  const names = deployedNames(gateway, rules);
  const ids = proxyIds(settings.platform, namespaceAnnotations);
  const images = (values["global"] ?? {}) as { readonly proxy?: { readonly image?: string } };
  const objectMeta = { ...metadata, labels: metadata.labels ?? {}, annotations: own };
  return {
    ...{ Name: metadata.name, Namespace: metadata.namespace, UID: metadata.uid ?? "" },
    ...{ Labels: objectMeta.labels, Annotations: own, ObjectMeta: new GoView(objectMeta), Spec: new GoView(spec) },
    ...{ GatewayClass: spec.gatewayClassName, GatewayNameLabel: "gateway.networking.k8s.io/gateway-name" },
    ...{ DeploymentName: names.deployment, ServiceAccount: names.serviceAccount },
    Ports: servicePorts([...(spec.listeners ?? []), ...otherListeners], settings.quic),
    ServiceType: own[annotations.serviceType] ?? rules.serviceType,
    ControllerLabel: rules.managedLabel,
    IsEastWestGateway: rules.controller === "istio.io/eastwest-controller",
    InfrastructureLabels: infrastructureLabels(gateway, values, settings),
    InfrastructureAnnotations: infrastructure(gateway, "annotations", settings.copiesMetadata),
    ...{ ClusterID: settings.clusterId, KubeVersion: settings.kubernetesVersion, Revision: settings.revision },
    ...{ NativeSidecars: settings.nativeSidecars, CompliancePolicy: settings.compliancePolicy },
    ...{ ProxyUID: ids?.uid ?? zero, ProxyGID: ids?.gid ?? zero },
    ProxyImage: proxyImage(values, proxyConfig, own, images.proxy?.image ?? ""),
    ...{ ProxyConfig: proxyConfigView(proxyConfig), MeshConfig: meshConfigView(mesh), Values: values },
  };
}

/** The labels or annotations of the Gateway's infrastructure, else its own; names of the Gateway API itself are not for users to set. */
function infrastructure({ metadata, spec }: KubeGateway, part: "labels" | "annotations", copies: boolean): Texts {
  const stated = spec.infrastructure?.[part];
  if (stated === undefined) return copies ? (metadata[part] ?? {}) : {};
  return Object.fromEntries(Object.entries(stated).filter(([name]) => !name.startsWith("gateway.networking.k8s.io/")));
}

function infrastructureLabels(gateway: KubeGateway, values: Json, settings: ManagedGatewaySettings): Texts {
  const { metadata, spec } = gateway;
  const labels = infrastructure(gateway, "labels", settings.copiesMetadata);
  const isOfAmbient = /waypoint|east-west/.test(spec.gatewayClassName);
  const meshNetwork = ((values["global"] ?? {}) as { readonly network?: string }).network ?? "";
  const saysMode = [metadata.labels, labels].some((one) => one?.["istio.io/dataplane-mode"] !== undefined);
  return {
    ...labels,
    ...(settings.waypoints && !isOfAmbient && !saysMode && { "istio.io/dataplane-mode": "none" }),
    ...(isOfAmbient &&
      metadata.labels?.["topology.istio.io/network"] === undefined &&
      meshNetwork !== "" && { "topology.istio.io/network": meshNetwork }),
  };
}

function documentsOf(text: string, name: string): readonly Json[] {
  return parseAllDocuments(text, { merge: true }).flatMap((document) => {
    const [error] = document.errors;
    if (error !== undefined) {
      const reason = error.message.split("\n", 1)[0];
      throw new InjectionError("INJECT_TEMPLATE_FAILED", `template ${name} gives no YAML: ${reason}`, { cause: error });
    }
    const object = document.toJS() as Json | null;
    return object === null ? [] : [object];
  });
}

/** A template must not write what belongs to somebody else. */
function checkPlace(object: Json, { metadata }: KubeGateway, names: readonly string[]): void {
  const { name = "", namespace = "" } = (object["metadata"] ?? {}) as {
    readonly name?: string;
    readonly namespace?: string;
  };
  const isOwn = namespace === metadata.namespace && (names.includes(name) || name.startsWith(metadata.name));
  if (isOwn) return;
  const kind = String(object["kind"]);
  throw new InjectionError("INJECT_TEMPLATE_FAILED", `${kind} ${namespace}/${name} is not the Gateway's own`);
}

function withManagedLabel(object: Json, label: string): Json {
  const metadata = (object["metadata"] ?? {}) as { readonly labels?: Texts };
  const labels = { ...metadata.labels, "gateway.istio.io/managed": label };
  return { ...object, metadata: { ...metadata, labels } };
}

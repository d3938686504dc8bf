/** The data that templates see of a pod. The names are Istio's: users' templates refer to them. */

import { zero } from "@flotilla/gotemplate";
import { ownValue } from "@flotilla/model";
import { GoView, MessageView } from "./go-view.ts";
import { proxyIds } from "./openshift.ts";
import type { Json, Pod } from "./pod.ts";
import { proxyImage } from "./proxy-config.ts";
import type { InjectionEnvironment, InjectionRequest, Workload } from "./request.ts";

export interface TemplateInputs {
  /** Without what an earlier injection left. */
  readonly pod: Pod;
  readonly workload: Workload;
  readonly proxyConfig: Json;
  readonly values: Json;
}

const proxyConfigEnums = { interceptionMode: "REDIRECT", controlPlaneAuthPolicy: "NONE" };
const meshConfigEnums = { accessLogEncoding: "TEXT", ingressControllerMode: "DEFAULT" };

export function proxyConfigView(proxyConfig: Json): MessageView {
  return new MessageView(proxyConfig, proxyConfigEnums);
}

export function meshConfigView(mesh: Json): MessageView {
  return new MessageView(mesh, meshConfigEnums);
}

export function templateData(
  { pod, workload, proxyConfig, values }: TemplateInputs,
  request: InjectionRequest,
  environment: InjectionEnvironment,
): Json {
  const { metadata, spec } = pod;
  const annotations = metadata.annotations ?? {};
  const images = (values["global"] ?? {}) as Json;
  const imageOf = (part: string): string => String((ownValue(images, part) as Json | undefined)?.["image"] ?? "");
  const ids = proxyIds(environment.platform, request.namespaceAnnotations);
  return {
    TypeMeta: new GoView({ apiVersion: workload.apiVersion, kind: workload.kind }),
    DeploymentMeta: new GoView({ name: workload.name, namespace: workload.namespace }),
    ObjectMeta: new GoView({ ...metadata, namespace: workload.namespace, labels: metadata.labels ?? {}, annotations }),
    Spec: new GoView(spec),
    ProxyConfig: proxyConfigView(proxyConfig),
    MeshConfig: meshConfigView(request.mesh),
    Values: values,
    Revision: environment.revision,
    NativeSidecars: environment.nativeSidecars,
    ProxyImage: proxyImage(values, proxyConfig, annotations, imageOf("proxy")),
    ProxyInitImage: proxyImage(values, proxyConfig, annotations, imageOf("proxy_init")),
    ProxyUID: ids?.uid ?? zero,
    ProxyGID: ids?.gid ?? zero,
    InboundTrafficPolicyMode: inboundMode(request.mesh),
    CompliancePolicy: environment.compliancePolicy,
  };
}

function inboundMode(mesh: Json): string {
  const mode = (mesh["inboundTrafficPolicy"] as Json | undefined)?.["mode"];
  return String(mode ?? "PASSTHROUGH").toLowerCase();
}

/** What templates see of a pod. The names are Istio's: users' templates refer to them. */
import { zero } from "@flotilla/gotemplate";
import { GoView, MessageView } from "./go-view.ts";
import type { Workload } from "./owner.ts";
import type { Json, Pod } from "./pod.ts";
import { proxyImage } from "./proxy-image.ts";
import type { InjectionEnvironment, InjectionRequest } from "./request.ts";

export interface TemplateInputs {
  /** Without what an earlier injection left. */
  readonly pod: Pod;
  readonly workload: Workload;
  readonly proxyConfig: Json;
  readonly values: Json;
}

const proxyConfigEnums = { interceptionMode: "REDIRECT", controlPlaneAuthPolicy: "NONE" };
const meshConfigEnums = { accessLogEncoding: "TEXT", ingressControllerMode: "DEFAULT" };

export function templateData(
  { pod, workload, proxyConfig, values }: TemplateInputs,
  request: InjectionRequest,
  environment: InjectionEnvironment,
): Json {
  const { metadata, spec } = pod;
  const annotations = metadata.annotations ?? {};
  const images = (values["global"] ?? {}) as Json;
  const imageOf = (part: string): string => String((images[part] as Json | undefined)?.["image"] ?? "");
  const ids = proxyIds(environment.platform, request.namespaceAnnotations);
  return {
    TypeMeta: new GoView({ apiVersion: workload.apiVersion, kind: workload.kind }),
    DeploymentMeta: new GoView({ name: workload.name, namespace: workload.namespace }),
    ObjectMeta: new GoView({ ...metadata, namespace: workload.namespace, labels: metadata.labels ?? {}, annotations }),
    Spec: new GoView(spec),
    ProxyConfig: new MessageView(proxyConfig, proxyConfigEnums),
    MeshConfig: new MessageView(request.mesh, meshConfigEnums),
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

/**
 * OpenShift gives each namespace a range of user ids of its own (`first/count`); the proxy takes the last one, which no
 * application takes by itself. Source: corpus inject, hello-openshift.
 */
function proxyIds(
  platform: string,
  annotations: Readonly<Record<string, string>>,
): { readonly uid: number; readonly gid: number } | undefined {
  if (platform !== "openshift") return undefined;
  const uid = lastOf(annotations["openshift.io/sa.scc.uid-range"]);
  const gid = lastOf(annotations["openshift.io/sa.scc.supplemental-groups"]) ?? uid;
  return uid === undefined || gid === undefined ? undefined : { uid, gid };
}

function lastOf(range: string | undefined): number | undefined {
  const { 1: first, 2: count } = /^(\d+)\/(\d+)$/.exec(range ?? "") ?? [];
  return first === undefined || count === undefined ? undefined : Number(first) + Number(count) - 1;
}

function inboundMode(mesh: Json): string {
  const mode = (mesh["inboundTrafficPolicy"] as Json | undefined)?.["mode"];
  return String(mode ?? "PASSTHROUGH").toLowerCase();
}

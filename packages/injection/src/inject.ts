/**
 * The injection of one pod: the templates are rendered for it and laid over it, the pod's own fields of the injected containers are laid
 * over that, and then come the changes that need to see the whole pod.
 */
import type { JsonObject } from "@flotilla/model";
import { problemText, validateProxyConfig } from "@flotilla/validation";
import { checkAnnotations, names } from "./annotations.ts";
import type { InjectionConfig } from "./config.ts";
import { InjectionError } from "./errors.ts";
import { withoutGivenIds } from "./openshift.ts";
import { reapplyOverrides, withoutInjection } from "./overrides.ts";
import type { Json, Pod, Texts } from "./pod.ts";
import { checkPodLimits } from "./pod-shape.ts";
import { applyProxyEnvironment, networkOfLabel } from "./post/cluster-environment.ts";
import { noteStatus, orderContainers } from "./post/finish.ts";
import { rewriteProbes } from "./post/probes.ts";
import { annotateSecurePort, mergePrometheus } from "./post/prometheus.ts";
import { proxyConfigOf } from "./proxy-config.ts";
import { render } from "./render.ts";
import type { InjectionEnvironment, InjectionRequest } from "./request.ts";
import { workloadOf } from "./request.ts";
import { templateData } from "./template-data.ts";

const defaultStatusPort = 15_020;

/** @throws InjectionError INJECT_BAD_POD, INJECT_TEMPLATE_FAILED */
export function injectPod(request: InjectionRequest, config: InjectionConfig, environment: InjectionEnvironment): Pod {
  const { mesh, namespace, namespaceAnnotations } = request;
  checkPodLimits(request.pod);
  const pod = withoutGivenIds(request.pod, environment.platform, namespaceAnnotations);
  const annotations = pod.metadata.annotations ?? {};
  const { values } = config;
  const proxyConfig = proxyConfigOf(mesh, annotations, request.proxyConfigs);
  checkSettings(annotations, proxyConfig);
  const workload = request.workload ?? workloadOf(pod, namespace);
  const data = templateData({ pod: withoutInjection(pod), workload, proxyConfig, values }, request, environment);
  const { merged, template } = render(config, pod, data);
  const overridden = reapplyOverrides(merged, { original: pod, template, proxyConfig });
  const proxyEnv = { ...placeOf(values), ...request.proxyEnv, ...networkOf(pod) };
  const ports = { status: statusPortOf(overridden, proxyConfig), mesh: meshStatusPort(proxyConfig) };
  const steps: readonly ((pod: Pod) => Pod)[] = [
    (one) => applyProxyEnvironment(one, proxyEnv),
    (one) => mergePrometheus(one, mesh, ports.mesh),
    annotateSecurePort,
    (one) => rewriteProbes(one, rewritesProbes(values), ports),
    (one) => noteStatus(one, template, environment.revision, config.injectedAnnotations),
    (one) => orderContainers(one, { holdApplication: holdsApplication(proxyConfig, values) }),
  ];
  return steps.reduce((one, step) => step(one), overridden);
}

/** @throws InjectionError INJECT_BAD_POD naming all annotations that cannot be followed */
function checkSettings(annotations: Texts, proxyConfig: Json): void {
  const own = names.proxyConfig in annotations ? validateProxyConfig(proxyConfig as JsonObject) : [];
  const ofProxy = own.map((problem) => ({ ...problem, field: `${names.proxyConfig}: ${problem.field}` }));
  const problems = [...checkAnnotations(annotations), ...ofProxy].filter(({ severity }) => severity === "error");
  if (problems.length === 0) return;
  const reasons = problems.map(problemText).join("; ");
  throw new InjectionError("INJECT_BAD_POD", `injection failed due to invalid annotations: ${reasons}`);
}

/** Cluster and network of pods whose request names none. */
function placeOf(values: Json): Texts {
  const { network, multiCluster } = (values["global"] ?? {}) as {
    readonly network?: unknown;
    readonly multiCluster?: Json;
  };
  const given = { ISTIO_META_CLUSTER_ID: multiCluster?.["clusterName"], ISTIO_META_NETWORK: network };
  const known = Object.entries(given).filter((one): one is [string, string] => typeof one[1] === "string");
  return Object.fromEntries(known.filter(([, value]) => value !== ""));
}

/** The pod's own label counts most. */
function networkOf({ metadata }: Pod): Texts {
  const network = networkOfLabel(metadata) ?? "";
  return network === "" ? {} : { ISTIO_META_NETWORK: network };
}

function meshStatusPort(proxyConfig: Json): number {
  const port = proxyConfig["statusPort"];
  return typeof port === "number" ? port : defaultStatusPort;
}

function statusPortOf({ metadata }: Pod, proxyConfig: Json): number {
  const own = metadata.annotations?.[names.statusPort];
  return own === undefined ? meshStatusPort(proxyConfig) : Number(own);
}

function rewritesProbes(values: Json): boolean {
  return (values["sidecarInjectorWebhook"] as Json | undefined)?.["rewriteAppHTTPProbe"] === true;
}

function holdsApplication(proxyConfig: Json, values: Json): boolean {
  const proxy = (values["global"] as Json | undefined)?.["proxy"] as Json | undefined;
  return proxyConfig["holdApplicationUntilProxyStarts"] === true || proxy?.["holdApplicationUntilProxyStarts"] === true;
}

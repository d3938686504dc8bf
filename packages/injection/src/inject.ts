/**
 * The injection of one pod: the templates are rendered for it and laid over it, what the pod says of the injected containers
 * is laid over that, and then come the changes that need to see the whole pod.
 */
import { problemText } from "@flotilla/validation";
import { checkAnnotations, names } from "./annotations.ts";
import type { InjectionConfig } from "./config.ts";
import { InjectionError } from "./errors.ts";
import { withoutGivenIds } from "./openshift.ts";
import { reapplyOverrides, withoutInjection } from "./overrides.ts";
import type { Json, Pod, Texts } from "./pod.ts";
import { checkPodLimits } from "./pod-shape.ts";
import { applyProxyEnvironment } from "./post/cluster-environment.ts";
import { noteStatus, orderContainers } from "./post/finish.ts";
import { rewriteProbes } from "./post/probes.ts";
import { mergePrometheus } from "./post/prometheus.ts";
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
  const problems = checkAnnotations(annotations);
  if (problems.length > 0) {
    const reasons = problems.map(problemText).join("; ");
    throw new InjectionError("INJECT_BAD_POD", `injection failed due to invalid annotations: ${reasons}`);
  }
  const { values } = config;
  const proxyConfig = proxyConfigOf(mesh, annotations);
  const workload = request.workload ?? workloadOf(pod, namespace);
  const data = templateData({ pod: withoutInjection(pod), workload, proxyConfig, values }, request, environment);
  const { merged, template } = render(config, pod, data);
  const overridden = reapplyOverrides(merged, pod, template);
  const statusPort = statusPortOf(overridden, proxyConfig);
  const steps: readonly ((pod: Pod) => Pod)[] = [
    (one) => applyProxyEnvironment(one, { ...networkOf(values), ...request.proxyEnv }),
    (one) => mergePrometheus(one, mesh, meshStatusPort(proxyConfig)),
    (one) => rewriteProbes(one, rewritesProbes(values), statusPort),
    (one) => noteStatus(one, template, environment.revision, config.injectedAnnotations),
    (one) => orderContainers(one, { holdApplication: holdsApplication(proxyConfig, values) }),
  ];
  return steps.reduce((one, step) => step(one), overridden);
}

/** The network of pods whose request names none. */
function networkOf(values: Json): Texts {
  const network = (values["global"] as Json | undefined)?.["network"];
  return typeof network === "string" && network !== "" ? { ISTIO_META_NETWORK: network } : {};
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

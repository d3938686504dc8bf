/** An admission request for a pod, answered with the patch that injects it. */
import {
  checkAnnotations,
  checkPodShape,
  decide,
  environmentOfPath,
  type InjectionConfig,
  type InjectionEnvironment,
  InjectionError,
  injectPod,
  type Json,
  type Pod,
  type Texts,
} from "@flotilla/injection";
import type { ProxyConfigLayers } from "@flotilla/model";
import type { Logger } from "@flotilla/runtime";
import { problemText } from "@flotilla/validation";
import type { AdmissionAnswer, AdmissionRequest } from "../admission/review.ts";
import type { WebhookMetrics } from "../metrics.ts";
import { diffJson } from "../patch/json-patch.ts";
import { SharedAnswers } from "./shared-answers.ts";

export interface InjectionState {
  readonly config: () => InjectionConfig;
  readonly environment: InjectionEnvironment;
  /** Of the node that a pod is bound to, or of all; the environment's setting if absent. */
  readonly hasNativeSidecars?: (node: string | undefined) => boolean;
  readonly mesh: () => Json;
  readonly namespaceAnnotations: (namespace: string) => Texts;
  /** Of a pod. */
  readonly proxyConfigs: (namespace: string, labels: Texts) => ProxyConfigLayers;
}

export interface InjectionOptions extends InjectionState {
  /** Change with everything that is followed from the bus, and with the nodes of the cluster. */
  readonly revisions: () => readonly number[];
  readonly enabled: boolean;
  readonly log: Logger;
  readonly metrics: WebhookMetrics["injection"];
  readonly nowMs: () => number;
}

export function createInjectionHandler(
  options: InjectionOptions,
): (request: AdmissionRequest, path: string) => AdmissionAnswer {
  const { enabled, log, metrics, nowMs, config, revisions } = options;
  const shared = new SharedAnswers({ maxEntries: 500, maxPatchLength: 64 * 1024 });
  const inject = (request: AdmissionRequest, path: string): AdmissionAnswer => {
    if (!enabled) return { allowed: true };
    const inputs = [config(), ...revisions()];
    return shared.answer({ request, path, inputs }, () => answerPod(options, request, path));
  };
  return (request, path) => {
    const startedMs = nowMs();
    metrics.requests.add(1);
    try {
      const answer = inject(request, path);
      if (answer.patch === undefined && answer.patchText === undefined) metrics.skips.add(1);
      else metrics.successes.add(1);
      return answer;
    } catch (error) {
      if (!(error instanceof InjectionError)) throw error;
      metrics.failures.add(1);
      log.warn("pod not injected", {
        namespace: request.namespace,
        name: request.name,
        code: error.code,
        reason: error.reason,
      });
      return { allowed: false, message: error.reason };
    } finally {
      metrics.seconds.observe((nowMs() - startedMs) / 1000);
    }
  };
}

/** Without a patch: the pod stays as it is. @throws InjectionError INJECT_BAD_POD, INJECT_TEMPLATE_FAILED */
export function answerPod(
  state: InjectionState & { readonly log?: Logger },
  request: AdmissionRequest,
  path: string,
): AdmissionAnswer {
  const pod = asPod(request.object);
  const { namespace } = request;
  const decision = decide(pod, namespace, state.config());
  state.log?.debug("decided", { namespace, name: request.name || pod.metadata.generateName, ...decision });
  const warnings = checkAnnotations(pod.metadata.annotations ?? {})
    .filter(({ severity }) => severity === "warning")
    .map(problemText);
  if (!decision.inject) return { allowed: true, warnings };
  const ownNamespace = pod.metadata.namespace || namespace;
  const { environment, hasNativeSidecars } = state;
  const node = pod.spec["nodeName"];
  const nativeSidecars = hasNativeSidecars?.(typeof node === "string" && node !== "" ? node : undefined);
  const injected = injectPod(
    {
      pod,
      namespace,
      namespaceAnnotations: state.namespaceAnnotations(ownNamespace),
      proxyConfigs: state.proxyConfigs(ownNamespace, pod.metadata.labels ?? {}),
      proxyEnv: environmentOfPath(path),
      mesh: state.mesh(),
    },
    state.config(),
    nativeSidecars === undefined ? environment : { ...environment, nativeSidecars },
  );
  return { allowed: true, warnings, patch: diffJson(request.object, injected) };
}

function asPod(object: unknown): Pod {
  const { kind, metadata, spec } = (object ?? {}) as {
    readonly kind?: unknown;
    readonly metadata?: unknown;
    readonly spec?: unknown;
  };
  if (typeof spec !== "object" || spec === null) {
    throw new InjectionError(
      "INJECT_BAD_POD",
      `could not unmarshal raw object: a ${typeof kind === "string" ? kind : "missing object"} has no spec`,
    );
  }
  const pod = { ...(object as Json), metadata: metadata ?? {}, spec };
  checkPodShape(pod);
  return pod;
}

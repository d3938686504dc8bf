/** The inputs of admission answers: the injection configuration, the mesh, the rules of validation. */
import { type InjectionConfigSource, injectionConfigSource, valueOverrides } from "@flotilla/injection";
import { createValidator, isEnvoyFilter } from "@flotilla/validation";
import { maxInlineLength, type ValidationThread } from "@flotilla/validation/aside";
import type { AdmissionAnswer, AdmissionRequest } from "../admission/review.ts";
import { createInjectionHandler } from "../inject/answer.ts";
import type { WebhookMetrics } from "../metrics.ts";
import { createRouter } from "../serve/router.ts";
import type { WebhookService } from "../settings.ts";
import { createValidationHandler } from "../validate/answer.ts";
import { EnvoyValues } from "../validate/envoy-values.ts";
import { injectionDocuments } from "../watch/injection-config-map.ts";
import type { KubeletVersions } from "../watch/kubelet-versions.ts";
import type { MeshReviews } from "../watch/mesh-reviews.ts";
import type { MeshState } from "../watch/mesh-state.ts";
import type { ServedObjects } from "../watch/served-objects.ts";

export function followInjection(
  { settings, health, log, stop }: WebhookService,
  metrics: WebhookMetrics,
): InjectionConfigSource {
  return injectionConfigSource(
    {
      configFile: settings.injectionConfigFile,
      valuesFile: settings.injectionValuesFile,
      documents: (until) => injectionDocuments(settings, log.child({ part: "injection" }), until),
      adjust: valueOverrides(settings),
      pollMs: settings.filePollMs,
      log: log.child({ part: "injection" }),
      onStale: (reason) => {
        health.setCondition("injection configuration", reason);
        metrics.staleFiles.set(reason === undefined ? 0 : 1, { part: "injection" });
      },
    },
    stop,
  );
}

export interface AnswerParts {
  readonly mesh: MeshState;
  readonly reviews: MeshReviews;
  readonly served: ServedObjects;
  readonly kubelets: KubeletVersions;
  readonly injection: InjectionConfigSource;
  readonly thread: ValidationThread;
  readonly metrics: WebhookMetrics;
}

export function createAnswer(
  { settings, health, log }: WebhookService,
  { mesh, reviews, served, kubelets, injection, thread, metrics }: AnswerParts,
): ReturnType<typeof createRouter> {
  const { revision, platform, compliancePolicy } = settings;
  const inject = createInjectionHandler({
    enabled: settings.injectEnabled,
    config: injection.current,
    environment: { revision, nativeSidecars: true, platform, compliancePolicy },
    mesh: () => mesh.mesh,
    hasNativeSidecars: (node) => kubelets.hasNativeSidecars(node),
    revisions: () => [mesh.revision, kubelets.revision],
    namespaceAnnotations: (namespace) => mesh.namespaceAnnotations(namespace),
    proxyConfigs: (namespace, labels) => mesh.proxyConfigs(namespace, labels),
    log: log.child({ part: "inject" }),
    metrics: metrics.injection,
    nowMs: () => performance.now(),
  });
  const envoy = new EnvoyValues(log.child({ part: "validate" }));
  const judge = createValidationHandler({
    validate: createValidator({ patchValue: () => envoy.check, served }),
    validateAside: (object, json) => thread.validate({ json, at: ["request", "object"], object: { ...object } }),
    log: log.child({ part: "validate" }),
    metrics: metrics.validation,
    review: (object) => reviews.warningsOf(object),
    concerns: served.concerns,
  });
  const validate = async (request: AdmissionRequest): Promise<AdmissionAnswer> => {
    const { object, body } = request;
    const isInline = body === undefined || body.byteLength <= maxInlineLength;
    if (isInline && object !== undefined && isEnvoyFilter(object)) await envoy.load();
    return judge(request);
  };
  const isReady = () => health.readiness.report().ready;
  const onHttpError = (status: number): void => metrics.httpErrors.add(1, { status });
  return createRouter({ inject, validate, isReady, onHttpError, log });
}

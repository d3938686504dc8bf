/**
 * webhook: answers the Kubernetes API's admission requests: pods get their sidecar, configuration is judged.
 *
 * The composition root. It keeps all it needs to answer, so that it goes on when every other service is away.
 */
import { join } from "node:path";
import { pageAccess, serveProcessPages } from "@flotilla/auth";
import { openPageReviewer } from "@flotilla/auth/cluster";
import { keepOwnCertificate } from "@flotilla/auth/serving";
import { type Logger, startService } from "@flotilla/runtime";
import { ValidationThread } from "@flotilla/validation/aside";
import manifest from "../package.json" with { type: "json" };
import { createAnswer, followInjection } from "./app/answer.ts";
import { followMesh } from "./app/follow-mesh.ts";
import { serveInjectionPages } from "./app/pages.ts";
import { serveAdmission } from "./app/serve-admission.ts";
import { declareMetrics } from "./metrics.ts";
import { issuedNames, serviceAccount } from "./serve/certificate.ts";
import { countOpen } from "./serve/count-open.ts";
import { readSettings, settings as table, type WebhookService } from "./settings.ts";
import { keepCaBundles } from "./watch/keep-ca-bundles.ts";
import { KubeletVersions } from "./watch/kubelet-versions.ts";
import { MeshReviews } from "./watch/mesh-reviews.ts";
import { MeshState } from "./watch/mesh-state.ts";
import { ServedObjects } from "./watch/served-objects.ts";

export interface MainOptions {
  readonly log?: Logger;
  /** Called once requests are answered, with the port in use. */
  readonly onReady?: (ports: { readonly https: number; readonly health: number }) => void;
}

/** Resolves after `stop` fires and everything is released; rejects with the first failure. */
export async function main(
  env: Readonly<Record<string, string | undefined>>,
  stop: AbortSignal,
  { log, onReady }: MainOptions = {},
): Promise<void> {
  const { version } = manifest;
  const options = { name: "webhook", version, settings: readSettings(env), table, log, processMetrics: true };
  await startService(options, (service) => run(service, onReady), stop);
}

async function run(service: WebhookService, onReady: MainOptions["onReady"]): Promise<void> {
  const { version, settings, health, log, stop } = service;
  const { namespace, port, workDir, debugAuth: isOn, pageWriters: writers } = settings;
  using reviewer = await openPageReviewer(settings);
  const access = pageAccess({ isOn, workDir, namespace, writers, review: reviewer?.review, log });
  serveProcessPages(health, access, service.pages);
  const metrics = declareMetrics(service.metrics);
  const part = (name: string) => log.child({ part: name });
  await using certificate = keepOwnCertificate({
    ...{ settings, namespace, serviceAccount, port, names: issuedNames(settings), log: part("certificate") },
  });
  const mesh = new MeshState(join(settings.workDir, "webhook", "mesh.json"), part("mesh"));
  if (!(await mesh.restore())) health.setCondition("mesh", "no mesh configuration received yet: the defaults hold");

  const reviews = new MeshReviews(settings.analyzedObjects, part("analysis"));
  const injection = followInjection(service, metrics);
  serveInjectionPages(health, access, injection);
  const kubelets = new KubeletVersions(settings);
  const served = new ServedObjects(() => mesh.mesh);
  await using thread = new ValidationThread({ served, patchValues: true });
  const answer = createAnswer(service, { mesh, reviews, served, kubelets, injection, thread, metrics });
  const requests = countOpen(answer);
  service.introspection?.page("/queues", () => ({
    openRequests: requests.open,
    charactersToValidate: thread.waitingLength,
  }));
  await service.runParts([
    injection.following,
    followMesh(service, { mesh, reviews, served }),
    kubelets.followCluster(settings, part("nodes"), stop),
    keepCaBundles(settings, { version, log: part("configurations"), onAttempt: metrics.configurationWritten }, stop),
    serveAdmission(service, { answer: requests.answer, certificate, injection, metrics, onReady }),
  ]);
}

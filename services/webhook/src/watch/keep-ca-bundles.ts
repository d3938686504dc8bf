/** In a cluster, one replica of webhook writes caBundle and failurePolicy of the webhook configurations: the one that holds the Lease. */
import { randomUUID } from "node:crypto";
import { hostname } from "node:os";
import { openApiServer } from "@flotilla/auth/cluster";
import { caRootFileOf } from "@flotilla/auth/serving";
import { type ClusterWork, inControlledClusters } from "@flotilla/kube-api";
import { duties, Leadership, leaseOfCluster } from "@flotilla/leadership";
import type { Logger } from "@flotilla/runtime";
import { serviceAccount } from "../serve/certificate.ts";
import type { Settings } from "../settings.ts";
import { CaBundles, type CaBundlesOptions } from "./ca-bundles.ts";
import { isRefused } from "./refusal-probe.ts";

/** Runs until `stop` fires; nothing to do without a cluster. @throws KubeError KUBE_CONFIG */
export async function keepCaBundles(
  settings: Settings,
  { version, log, onAttempt }: { readonly version: string; readonly log: Logger } & Pick<CaBundlesOptions, "onAttempt">,
  stop: AbortSignal,
): Promise<void> {
  const { namespace, revision, filePollMs: pollMs, electsLeaders } = settings;
  using api = await openApiServer(settings);
  if (api === undefined) return;
  const rootFile = rootFileOf(settings);
  if (rootFile === undefined) {
    log.info("caBundle of webhook configurations is not filled in: set WEBHOOK_CA_BUNDLE_FILE");
    return;
  }
  const candidate = { holder: `${hostname()}-${randomUUID()}`, version, isDefaultRevision: revision === "default" };
  const duty = duties.webhookConfigurations;
  const lease = leaseOfCluster({ api, namespace, name: duty, candidate, electsLeaders });
  const service = { name: serviceAccount, namespace };
  const common = { service, url: settings.url, rootFile, pollMs, log, random: Math.random, onAttempt };
  const bundles = new CaBundles({ ...common, api, isRefused: () => isRefused({ api, namespace, revision }) });
  // Validation in another cluster is not probed from here: failurePolicy stays as it is there.
  const elsewhere: ClusterWork = (cluster, end) =>
    new CaBundles({ ...common, api: cluster.api, injectedBy: revision, isRefused: async () => false }).run(end);
  const work = async (end: AbortSignal): Promise<void> => {
    const others = inControlledClusters(api, { settings, log, random: Math.random }, elsewhere, end);
    await Promise.all([bundles.run(end), others]);
  };
  await new Leadership({ lease, duty, log }).run(work, stop);
}

/** The root of the serving certificate; undefined when it is not ca's and no setting names one. */
function rootFileOf(settings: Settings): string | undefined {
  const isFromCa = settings.tlsCertFile === undefined && settings.certProvider === "istiod";
  return settings.caBundleFile ?? (isFromCa ? caRootFileOf(settings) : undefined);
}

/**
 * The roots as a ClusterTrustBundle, from where pods project them, under the name and the signer that istiod uses
 * (ENABLE_CLUSTER_TRUST_BUNDLE_API): made, made again when it is deleted, corrected when it is edited.
 */
import { type ClusterTrustBundle, type KubeApi, KubeError } from "@flotilla/kube-api";
import { type Logger, sharedDelay } from "@flotilla/runtime";

export interface ClusterTrustBundleOptions {
  readonly api: KubeApi;
  /** PEM; undefined while there are none. */
  readonly rootsPem: () => string | undefined;
  readonly log: Logger;
  readonly everyMs?: number;
}

const name = "istio.io:istiod-ca:root-cert";
const signerName = "istio.io/istiod-ca";
/** The newest first. */
const versions = ["v1", "v1beta1", "v1alpha1"];

/** Looks at the bundle in an interval until `stop` fires: it is one object, and a change of roots causes no event here. */
export async function keepClusterTrustBundle(options: ClusterTrustBundleOptions, stop: AbortSignal): Promise<void> {
  const { log, everyMs = 2_000 } = options;
  let logged = "";
  while (!stop.aborted) {
    try {
      await writeBundle(options);
      logged = "";
    } catch (error) {
      if (!(error instanceof KubeError)) throw error;
      // The same trouble is reported once, not each time.
      if (error.message !== logged) log.warn("the ClusterTrustBundle is not written", { name, reason: error.message });
      logged = error.message;
    }
    await sharedDelay(everyMs, stop);
  }
}

async function writeBundle({ api, rootsPem, log }: ClusterTrustBundleOptions): Promise<void> {
  const trustBundle = rootsPem();
  if (trustBundle === undefined) return;
  const version = await versionOf(api);
  const collection = `/apis/certificates.k8s.io/${version}/clustertrustbundles`;
  const path = `${collection}/${encodeURIComponent(name)}`;
  const found = await api.get<ClusterTrustBundle>(path);
  if (found?.spec?.trustBundle === trustBundle) return;
  const spec = { signerName, trustBundle };
  const kind = { apiVersion: `certificates.k8s.io/${version}`, kind: "ClusterTrustBundle" };
  if (found === undefined) await api.create(collection, { ...kind, metadata: { name }, spec });
  else await api.replace(path, { ...found, ...kind, spec });
  log.info("the ClusterTrustBundle is written", { name, version });
}

/** @throws KubeError KUBE_REFUSED when the API server has no such kind */
async function versionOf(api: KubeApi): Promise<string> {
  for (const version of versions) {
    const served = await api.get<{ readonly resources?: readonly { readonly name: string }[] }>(
      `/apis/certificates.k8s.io/${version}`,
    );
    if (served?.resources?.some((resource) => resource.name === "clustertrustbundles")) return version;
  }
  throw new KubeError("KUBE_REFUSED", "the API server does not serve ClusterTrustBundles");
}

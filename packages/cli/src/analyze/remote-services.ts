/**
 * Services of the other clusters of a mesh: of contexts of the kubeconfig, else of the Secrets by which the control plane reaches them, and of
 * files. A cluster that does not answer is left out.
 */
import { type MeshObject, remoteService } from "@flotilla/analysis";
import { type KubeApi, KubeError, openKubeApi, remoteClusters, type SecretObject } from "@flotilla/kube-api";
import type { KubeObject } from "@flotilla/model";
import { clusterObjects, openUsersCluster } from "../api/cluster-objects.ts";
import { filesOf, readManifestText } from "../api/manifests.ts";
import type { analyze as definition } from "../definitions/offline.ts";
import { CliError } from "../errors.ts";
import type { Invocation } from "../parse/definition.ts";
import { locateObjects } from "../validate/located-objects.ts";

type Analyze = Invocation<typeof definition>;

/** A cluster by the name that findings call it, and how its API server is reached. */
interface OtherCluster {
  readonly cluster: string;
  open(): Promise<KubeApi>;
}

/** @param own objects of the own cluster, among them the Secrets */
export async function servicesOfClusters(
  invocation: Analyze,
  own: readonly KubeObject[],
): Promise<readonly MeshObject[]> {
  const clusters = otherClusters(invocation, own);
  const found = await Promise.all(clusters.map((one) => servicesOf(one, invocation)));
  return found.flat();
}

/** @throws CliError CLI_USAGE */
export function servicesOfFiles({ options: { remoteFiles } }: Analyze): readonly MeshObject[] {
  return remoteFiles.flatMap((given) => {
    const [, cluster, path] = /^([^=]+)=(.+)$/.exec(given) ?? [];
    if (cluster === undefined || path === undefined)
      throw new CliError("CLI_USAGE", `--remote-files ${given} is not CLUSTER=PATH`);
    const objects = filesOf(path).flatMap((file) => locateObjects(readManifestText(file)).objects);
    return objects.flatMap(({ value }) => remoteService(cluster, value) ?? []);
  });
}

function otherClusters({ options, env, terminal }: Analyze, own: readonly KubeObject[]): readonly OtherCluster[] {
  if (options.remoteContexts.length > 0)
    return options.remoteContexts.map((cluster) => ({
      cluster,
      open: () => openUsersCluster(options.kubeconfig, env, cluster),
    }));
  const secrets = own.filter(
    ({ kind, metadata: { namespace, labels } }) =>
      kind === "Secret" && namespace === options.meshNamespace && labels?.["istio/multiCluster"] === "true",
  );
  // The name of the own cluster is not known here: a Secret for it has its own Services once more, which are the same.
  const { clusters, problems } = remoteClusters(secrets as unknown as readonly SecretObject[], { ownCluster: "" });
  for (const { object, field, reason } of problems) terminal.warn(`flotilla: ${object}: ${field}: ${reason}`);
  return [...clusters.values()].flatMap(({ cluster, config }) =>
    config === undefined ? [] : [{ cluster, open: async () => openKubeApi(config) }],
  );
}

async function servicesOf({ cluster, open }: OtherCluster, { terminal }: Analyze): Promise<readonly MeshObject[]> {
  try {
    using api = await open();
    const services = await clusterObjects(api, (kind) => kind === "Service");
    return services.flatMap((service) => remoteService(cluster, service) ?? []);
  } catch (error) {
    if (!(error instanceof KubeError)) throw error;
    terminal.warn(`flotilla: Services of cluster ${cluster} are left out: ${error.message}`);
    return [];
  }
}

/** Where the servers of tests with a real Kubernetes API are: as envtest finds them, else where scripts/build-kube.ts puts them. */
import { homedir } from "node:os";
import { join } from "node:path";

type Env = Readonly<Record<string, string | undefined>>;

/**
 * The directory with kube-apiserver and etcd for tests: KUBEBUILDER_ASSETS, else the cache of scripts/build-kube.ts.
 */
export function kubeAssetsDirectory(env: Env): string {
  const cache = env["XDG_CACHE_HOME"] || join(env["HOME"] || homedir(), ".cache");
  return env["KUBEBUILDER_ASSETS"] || join(cache, "flotilla", "kubernetes-1.36");
}

/** TEST_ASSET_KUBE_APISERVER, TEST_ASSET_ETCD … name one program. */
export function kubeAsset(env: Env, name: string): string {
  return env[`TEST_ASSET_${name.toUpperCase().replaceAll("-", "_")}`] || join(kubeAssetsDirectory(env), name);
}

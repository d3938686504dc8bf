/** The parts that a cluster gives to pods: accounts with the rights of k8s/base, their tokens, and the root in a mounted ConfigMap. */
import { mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { KubeObject } from "@flotilla/kube-api";
import type { RunningApiserver } from "@flotilla/kube-api/testing";
import { delay } from "@flotilla/runtime";
import { isRight, objectsIn, pathOf } from "./objects.ts";

interface ConfigMap extends KubeObject {
  readonly data?: Readonly<Record<string, string>>;
}
interface KubeconfigFile {
  readonly users: readonly { readonly user: { readonly token: string } }[];
}

export class Cluster {
  /** As the kubelet mounts it. */
  readonly rootFile: string;
  readonly #server: RunningApiserver;
  readonly #directory: string;

  constructor(server: RunningApiserver, directory: string) {
    this.#server = server;
    this.#directory = join(directory, "cluster");
    this.rootFile = join(this.#directory, "root-cert.pem");
    mkdirSync(this.#directory);
  }

  async applyRights(): Promise<void> {
    for (const name of ["istio-system", "shop"])
      await this.#server.api.create("/api/v1/namespaces", { metadata: { name } });
    const objects = [...objectsIn("k8s/base"), ...objectsIn("k8s/components/console")];
    for (const object of objects.filter(isRight)) await this.#server.api.create(pathOf(object), object);
  }

  /** ca reads it through the API; the files of the other services are what a kubelet mounts of it. */
  async createSealKey(key: Buffer): Promise<void> {
    const metadata = { name: "flotilla-seal", namespace: "istio-system" };
    const data = { "seal.key": key.toString("base64") };
    await this.#server.api.create("/api/v1/namespaces/istio-system/secrets", { metadata, data });
  }

  async token(account: string, audiences: readonly string[] = [], namespace = "istio-system"): Promise<string> {
    const path = `/api/v1/namespaces/${namespace}/serviceaccounts/${account}/token`;
    const request = { apiVersion: "authentication.k8s.io/v1", kind: "TokenRequest", spec: { audiences } };
    const { status } = await this.#server.api.create<{ readonly status: { readonly token: string } }>(path, request);
    return status.token;
  }

  async createAccount(namespace: string, name: string): Promise<void> {
    await this.#server.api.create(`/api/v1/namespaces/${namespace}/serviceaccounts`, { metadata: { name } });
  }

  /** A kubeconfig with the token of that account: what a pod of it may, and no more. */
  async kubeconfig(account: string): Promise<string> {
    const config = JSON.parse(readFileSync(this.#server.kubeconfig, "utf8")) as KubeconfigFile;
    const users = config.users.map((one) => ({ ...one, user: { token: "" } }));
    for (const { user } of users) user.token = await this.token(account);
    const file = join(this.#directory, `${account}.kubeconfig`);
    writeFileSync(file, JSON.stringify({ ...config, users }), { mode: 0o600 });
    return file;
  }

  /** Writes the root as it comes, until `stop`. */
  async mountRoot(stop: AbortSignal): Promise<void> {
    for (let last = ""; !stop.aborted; await delay(100, stop)) {
      const path = "/api/v1/namespaces/istio-system/configmaps/istio-ca-root-cert";
      const root = (await this.#server.api.get<ConfigMap>(path))?.data?.["root-cert.pem"] ?? "";
      if (root === last) continue;
      writeFileSync(`${this.rootFile}.new`, root);
      renameSync(`${this.rootFile}.new`, this.rootFile);
      last = root;
    }
  }
}

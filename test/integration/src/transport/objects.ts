/** The objects of k8s/ as kustomize would have them, and where an API server takes them. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { KubeObject } from "@flotilla/kube-api";
import { parseAllDocuments } from "yaml";
import { repository } from "./manifests.ts";

export type DeployedObject = Required<Pick<KubeObject, "apiVersion" | "kind">> & KubeObject;

/** Named in k8s/components/cluster-signer/signer.yaml. */
export const signer = "example.com/serving";
const clusterWide = /^(Namespace|ClusterRole(Binding)?|(Mutating|Validating)WebhookConfiguration)$/;

export function objectsIn(directory: string): readonly DeployedObject[] {
  const path = join(repository, directory);
  const files = readdirSync(path).filter((file) => /^(?!kustomization|setting|signer).*\.yaml$/.test(file));
  const text = (file: string) =>
    readFileSync(join(path, file), "utf8").replace("resourceNames: [signer]", `resourceNames: [${signer}]`);
  return files.flatMap((file) => parseAllDocuments(text(file)).map((document) => document.toJS() as DeployedObject));
}

/** Accounts and what they may do. */
export function isRight({ kind }: DeployedObject): boolean {
  return /^(ServiceAccount|(Cluster)?Role(Binding)?)$/.test(kind);
}

export function pathOf({ apiVersion, kind, metadata: { namespace } }: DeployedObject): string {
  const group = apiVersion.includes("/") ? `/apis/${apiVersion}` : `/api/${apiVersion}`;
  const plural = `${kind.toLowerCase()}s`.replace(/ys$/, "ies");
  return clusterWide.test(kind) ? `${group}/${plural}` : `${group}/namespaces/${namespace}/${plural}`;
}

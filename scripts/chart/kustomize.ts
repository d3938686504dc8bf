/** The objects of k8s/base with components, as `kubectl kustomize` builds them. */
import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";
import { parseAllDocuments } from "yaml";
import { root } from "../deployment/files.ts";

export interface ManifestObject {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly namespace?: string };
}

/** Names of generated ConfigMaps end with a hash of their content. */
const hashed = /\b(flotilla-(?:nats|redis))-[a-z0-9]{10}\b/g;

/** `kubectl` from KUBECTL or PATH. @throws Error when it is not there or refuses */
export function kustomize(components: readonly string[], kubectl = "kubectl"): readonly ManifestObject[] {
  const directory = mkdtempSync(join(tmpdir(), "flotilla-chart-"));
  try {
    const path = (name: string) => relative(directory, join(root, "k8s", name));
    const content = { resources: [path("base")], components: components.map((name) => path(`components/${name}`)) };
    writeFileSync(join(directory, "kustomization.yaml"), JSON.stringify(content));
    return parseObjects(execFileSync(kubectl, ["kustomize", directory], { encoding: "utf8" }));
  } finally {
    rmSync(directory, { recursive: true });
  }
}

export function parseObjects(text: string): readonly ManifestObject[] {
  return parseAllDocuments(text.replaceAll(hashed, "$1"))
    .map((document) => document.toJS() as ManifestObject | null)
    .filter((object) => object !== null);
}

export function keyOf({ kind, metadata }: ManifestObject): string {
  return `${kind}/${metadata.name}`;
}

/** A scenario's input as files that a control plane reads: a file an object, MeshConfig, MeshNetworks and settings. */
import { mkdirSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { apiGroup, type JsonObject, type KubeObject } from "@flotilla/model";
import type { MeshStep } from "@flotilla/registry";
import { stringify } from "yaml";

export interface InputFolder {
  readonly objects: string;
  /** A folder for each other cluster, by its name. */
  readonly clusters: string;
  readonly mesh: string;
  readonly networks: string;
  readonly env: string;
  /** Writes a step's changes; each file changes in one step. */
  readonly apply: (step: MeshStep) => void;
}

export function inputFolder(root: string, settings: Readonly<Record<string, string>> = {}): InputFolder {
  const folder = {
    objects: join(root, "input"),
    clusters: join(root, "clusters"),
    mesh: join(root, "mesh.yaml"),
    networks: join(root, "networks.yaml"),
    env: join(root, "env"),
  };
  mkdirSync(folder.objects, { recursive: true });
  writeFileSync(
    folder.env,
    Object.entries(settings)
      .map(([name, value]) => `${name}='${value}'\n`)
      .join(""),
  );
  const place = (object: Pick<KubeObject, "apiVersion" | "kind" | "metadata">, within = folder.objects) =>
    join(within, fileOf(object));
  const documents = ({ mesh, networks }: MeshStep): readonly (readonly [string, JsonObject | undefined])[] => [
    [folder.mesh, mesh],
    [folder.networks, networks],
  ];
  return {
    ...folder,
    apply: (step) => {
      for (const [path, document] of documents(step)) if (document !== undefined) replace(path, stringify(document));
      for (const object of step.delete ?? []) rmSync(place(object));
      for (const object of step.put ?? []) replace(place(object), textOf(object));
      for (const [cluster, objects] of Object.entries(step.clusters ?? {})) {
        const within = join(folder.clusters, cluster);
        mkdirSync(within, { recursive: true });
        for (const object of objects) replace(place(object, within), textOf(object));
      }
    },
  };
}

function textOf(object: KubeObject): string {
  return `${JSON.stringify(object, null, 1)}\n`;
}

function fileOf({ apiVersion, kind, metadata }: Pick<KubeObject, "apiVersion" | "kind" | "metadata">): string {
  const parts = [kind, apiGroup(apiVersion) || "core", metadata.namespace ?? "_", metadata.name];
  return `${parts.join(".")}.yaml`.toLowerCase();
}

function replace(path: string, text: string): void {
  writeFileSync(`${path}.tmp`, text);
  renameSync(`${path}.tmp`, path);
}

/**
 * A document under a key of a ConfigMap, followed while running. A wrong text keeps the last good version, and so does a
 * ConfigMap that is deleted: a mesh does not change its trust domain because somebody removed an object.
 */

import { follow, type KubeApi, type KubeObject } from "@flotilla/kube-api";
import type { JsonObject } from "@flotilla/model";
import { ownValue } from "@flotilla/model";
import type { Logger } from "@flotilla/runtime";
import { type DocumentCheck, readDocumentAside, type SourceProblem } from "@flotilla/sources";
import type { DocumentLayer, LayerVersion } from "./document-layers.ts";

export interface ConfigMapLayerOptions {
  /** Released with the layer. */
  readonly api: KubeApi;
  readonly namespace: string;
  readonly name: string;
  readonly key: string;
  readonly check: DocumentCheck;
  readonly log: Logger;
  readonly nowMs: () => number;
  readonly random: () => number;
  readonly onProblems: () => void;
}

export function configMapLayer(options: ConfigMapLayerOptions): DocumentLayer {
  const { api, namespace, name, key, nowMs, onProblems } = options;
  const file = `ConfigMap/${namespace}/${name}`;
  let problems: readonly SourceProblem[] = [];
  return {
    problems: () => problems,
    async *versions(stop): AsyncGenerator<LayerVersion, void, undefined> {
      let last: string | undefined;
      const path = `${configMapsPath(namespace)}?fieldSelector=${encodeURIComponent(`metadata.name=${name}`)}`;
      for await (const [object] of follow(api, path, options, stop)) {
        const wasThere = last !== undefined && last !== "";
        const text = object === undefined && wasThere ? last : textOf(object, key);
        const isNew = text !== last;
        // The problems of a text that never was in force go with it.
        if (object === undefined && !isNew)
          problems = wasThere ? [{ file, line: 0, reason: "is gone: its last version stays in force" }] : [];
        else {
          const read = await readText(file, key, text ?? "", options.check);
          problems = read.problems;
          if (isNew && read.value !== undefined) {
            yield { document: read.value as JsonObject, eventTimeMs: nowMs() };
            last = text;
          }
        }
        onProblems();
      }
    },
    [Symbol.asyncDispose]: async () => api[Symbol.dispose](),
  };
}

/** As it is now; empty where there is none. @throws KubeError */
export async function configMapDocument(
  { api, namespace, name, key }: Pick<ConfigMapLayerOptions, "api" | "namespace" | "name" | "key">,
  check: DocumentCheck,
): Promise<JsonObject> {
  const object = await api.get<KubeObject>(`${configMapsPath(namespace)}/${encodeURIComponent(name)}`);
  const { value = {} } = await readText(name, key, textOf(object, key), check);
  return value as JsonObject;
}

function configMapsPath(namespace: string): string {
  return `/api/v1/namespaces/${encodeURIComponent(namespace)}/configmaps`;
}

function textOf(object: KubeObject | undefined, key: string): string {
  const data = (object as { readonly data?: Readonly<Record<string, unknown>> } | undefined)?.data;
  const text = ownValue(data, key);
  return typeof text === "string" ? text : "";
}

async function readText(file: string, key: string, text: string, check: DocumentCheck) {
  const { value, problems } = await readDocumentAside(file, text, check);
  return { value, problems: problems.map((problem) => ({ ...problem, object: key })) };
}

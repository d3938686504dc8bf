/** Objects of a store in the shape of the Kubernetes API. */
import { createHash } from "node:crypto";
import { apiVersionOf, kindNamed } from "@flotilla/kinds";
import type { Config, KubeObject } from "@flotilla/model";

/** In the version that was asked for, or that the kind is stored in. */
export function manifestOf(config: Config, asked?: string): KubeObject {
  const kind = kindNamed(config.key.kind);
  const { namespace, name } = config.key;
  const { labels, annotations, creationTimeMs, resourceVersion, generation } = config;
  return {
    apiVersion: asked ?? (kind === undefined ? "v1" : apiVersionOf(kind)),
    kind: kind?.kind ?? config.key.kind,
    metadata: {
      name,
      ...(namespace !== "" && { namespace }),
      uid: uidOf(config),
      ...(resourceVersion !== undefined && { resourceVersion }),
      ...(generation !== undefined && { generation }),
      creationTimestamp: new Date(creationTimeMs).toISOString().replace(/\.\d+Z$/, "Z"),
      ...(Object.keys(labels).length > 0 && { labels }),
      ...(Object.keys(annotations).length > 0 && { annotations }),
    },
    ...contentOf(config),
    ...(config.status !== undefined && { status: config.status }),
  };
}

/** Kinds without a spec have their fields at the top. */
export function contentOf({ key, spec }: Config): Readonly<Record<string, unknown>> {
  return key.kind === "Secret" || key.kind === "ConfigMap" ? (spec as Record<string, unknown>) : { spec };
}

/** The same for the life of an object, and another when it is made anew. */
function uidOf({ key: { kind, namespace, name }, creationTimeMs }: Config): string {
  const text = createHash("sha256").update(`${kind}/${namespace}/${name}/${creationTimeMs}`).digest("hex");
  return [
    text.slice(0, 8),
    text.slice(8, 12),
    `5${text.slice(13, 16)}`,
    `8${text.slice(17, 20)}`,
    text.slice(20, 32),
  ].join("-");
}

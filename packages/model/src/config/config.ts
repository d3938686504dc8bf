/** Configuration objects: Istio's kinds, Gateway API kinds, and the core Kubernetes kinds that configuration refers to. */
import type { Branded } from "../names/text-codec.ts";

/**
 * `namespace` is "" for cluster-scoped kinds. `kind` is unambiguous: Gateway API's Gateway is `KubernetesGateway`. `name` is that of the object,
 * or of `clusterObjectName` for one of another cluster.
 */
export interface ConfigKey {
  readonly kind: string;
  readonly namespace: string;
  readonly name: string;
}

/** `Kind/namespace/name`; neither part can hold a slash. */
export type ConfigKeyText = Branded<"ConfigKey">;

/** An object as its source has it; `Spec` is plain protobuf JSON on the wire and a decoded message in xds-server. */
export interface Config<Spec = unknown> {
  readonly key: ConfigKey;
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
  /** Milliseconds since the epoch; 0 when the source has none. */
  readonly creationTimeMs: number;
  /** Kubernetes' resourceVersion, or the source's equivalent. */
  readonly resourceVersion?: string;
  /** Kubernetes' generation: counts changes of the spec. */
  readonly generation?: number;
  readonly spec: Spec;
  readonly status?: unknown;
  readonly provenance?: Provenance;
}

/** Where an object comes from. */
export interface Provenance {
  /** `file`, `kubernetes`, `mcp`, `api` … */
  readonly source: string;
  /** A file and line, or the version in a cluster or store. */
  readonly location?: string;
  /** When the source changed, milliseconds since the epoch. Set by stores; it does not travel with the object. */
  readonly eventTimeMs?: number;
}

export function configKeyText({ kind, namespace, name }: ConfigKey): ConfigKeyText {
  return `${kind}/${namespace}/${name}` as ConfigKeyText;
}

/** @throws RangeError when `text` does not have three parts. */
export function parseConfigKey(text: string): ConfigKey {
  const [kind, namespace, name, rest] = text.split("/");
  if (kind === undefined || namespace === undefined || name === undefined || rest !== undefined) {
    throw new RangeError(`"${text}" is not Kind/namespace/name`);
  }
  return { kind, namespace, name };
}

type Aged = Pick<Config, "key" | "creationTimeMs">;

/** Istio's order of precedence: older first, then by name, then by namespace. */
export function compareByAge(a: Aged, b: Aged): number {
  return (
    a.creationTimeMs - b.creationTimeMs ||
    compareText(a.key.name, b.key.name) ||
    compareText(a.key.namespace, b.key.namespace)
  );
}

/** Order by code unit: the same on every machine, unlike `localeCompare`. */
export function compareText(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

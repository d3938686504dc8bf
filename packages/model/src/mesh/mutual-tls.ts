/** Modes of the mesh's own TLS, as PeerAuthentications have set them for workloads of one namespace. */
import { type Labels, matchesLabels } from "../config/selector.ts";

export type MutualTlsMode = "STRICT" | "PERMISSIVE" | "DISABLE";

/** The mode of workloads that one object selects. */
export interface SelectedMutualTls {
  readonly selector: Labels;
  /** For ports without a mode of their own. */
  readonly mode: MutualTlsMode;
  /** By workload port. */
  readonly ports: ReadonlyMap<number, MutualTlsMode>;
}

/** Mutual TLS of the workloads of a namespace, as others see them. */
export interface NamespaceMutualTls {
  /** Of workloads that no object selects. */
  readonly mode: MutualTlsMode;
  /** The first that selects a workload counts. */
  readonly selecting: readonly SelectedMutualTls[];
}

/** The mode of one port of a workload. */
export function workloadMode({ mode, selecting }: NamespaceMutualTls, labels: Labels, port: number): MutualTlsMode {
  const own = selecting.find(({ selector }) => matchesLabels(selector, labels));
  return own === undefined ? mode : (own.ports.get(port) ?? own.mode);
}

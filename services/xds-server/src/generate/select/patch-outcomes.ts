/**
 * Outcomes of EnvoyFilter patches, for the metric `pilot_envoy_filter_status`. An outcome is stored with the patched resource and reported like a
 * finding. It exists as long as the cached resource, however many proxies share that (decision 0360).
 */
import type { Finding } from "@flotilla/incremental";
import { ApplyTo, type Patch } from "../patch/patch.ts";

export const envoyFilterStatus = "pilot_envoy_filter_status";

/** istiod's names for what a patch applies to. Others are not counted, as there. */
const kindsByName = {
  CLUSTER: "cluster",
  LISTENER: "listener",
  LISTENER_FILTER: "listenerfilter",
  FILTER_CHAIN: "filterchain",
  NETWORK_FILTER: "networkfilter",
  HTTP_FILTER: "httpfilter",
  ROUTE_CONFIGURATION: "route",
  HTTP_ROUTE: "route",
  VIRTUAL_HOST: "vhost",
} as const satisfies Partial<Record<keyof typeof ApplyTo, string>>;

/** Label values of the metric by `applyTo` in objects. */
export const patchKinds: ReadonlyMap<string, string> = new Map(Object.entries(kindsByName));

const kinds: ReadonlyMap<ApplyTo, string> = new Map(
  Object.entries(kindsByName).map(([name, kind]) => [ApplyTo[name as keyof typeof kindsByName], kind]),
);

export type PatchResult = "applied" | "error";

const noOutcomes: readonly Finding[] = [];

/** Outcomes on one resource; each patch counts once. */
export class Outcomes {
  #findings: Map<string, Finding> | undefined;

  readonly note = (patch: Patch, problem?: string): void => {
    const kind = kinds.get(patch.applyTo);
    if (kind === undefined) return;
    const result: PatchResult = problem === undefined ? "applied" : "error";
    this.#keep({ metric: envoyFilterStatus, object: patch.object, message: `${kind} ${result}` });
  };

  /** Adds the outcomes of a part of the resource. */
  add(outcomes: readonly Finding[]): void {
    for (const finding of outcomes) this.#keep(finding);
  }

  get list(): readonly Finding[] {
    return this.#findings === undefined ? noOutcomes : [...this.#findings.values()];
  }

  #keep(finding: Finding): void {
    this.#findings ??= new Map();
    this.#findings.set(`${finding.object} ${finding.message}`, finding);
  }
}

/** istiod's metric `pilot_envoy_filter_status`, computed from the current resources when it is read, not during a push. */
import type { Finding } from "@flotilla/incremental";
import type { Change } from "@flotilla/model";
import { type Metrics, seriesOf } from "@flotilla/runtime";
import { envoyFilterStatus, type PatchResult, patchKinds } from "../generate/select/patch-outcomes.ts";

export interface EnvoyFilterSources {
  /** The inputs in force, one change for each key. */
  readonly inputs: () => Iterable<Change>;
  /** Undefined if outcomes are not recorded; the metric has no series then. */
  readonly outcomes: () => readonly Finding[] | undefined;
}

export function declareEnvoyFilterMetric(metrics: Metrics, sources: EnvoyFilterSources): void {
  metrics.gauge({
    name: envoyFilterStatus,
    help: "1 where patches of an EnvoyFilter changed resources of proxies (applied) or could not be used on them (error), by kind of patch",
    labels: ["name", "patch", "result"],
    collect: seriesOf(() => statusesOf(sources).map(([labels, value]) => ({ labels: { ...labels }, value }))),
  });
}

interface Labels {
  /** `namespace/name` */
  readonly name: string;
  readonly patch: string;
  readonly result: PatchResult;
}

/** `applied` is 1 or 0 for each kind of patch of an object; `error` has a series only if a patch failed. */
function statusesOf({ inputs, outcomes }: EnvoyFilterSources): readonly (readonly [Labels, number])[] {
  const noted = outcomes();
  if (noted === undefined) return [];
  const [applied, failed] = [labelsOf(noted, "applied"), labelsOf(noted, "error")];
  const all = new Map([...patchesOf(inputs())].map((labels) => [keyOf(labels), labels]));
  return [...all].flatMap(([key, labels]) => [
    [{ ...labels, result: "applied" }, applied.has(key) ? 1 : 0] as const,
    ...(failed.has(key) ? [[{ ...labels, result: "error" }, 1] as const] : []),
  ]);
}

type Patched = Omit<Labels, "result">;

function keyOf({ name, patch }: Patched): string {
  return `${name} ${patch}`;
}

function labelsOf(outcomes: readonly Finding[], wanted: PatchResult): ReadonlySet<string> {
  return new Set(
    outcomes.flatMap(({ object, message }) => {
      const [patch = "", result] = message.split(" ");
      return result === wanted ? [keyOf({ name: object.replace(/^EnvoyFilter\//, ""), patch })] : [];
    }),
  );
}

function* patchesOf(inputs: Iterable<Change>): Iterable<Patched> {
  for (const change of inputs) {
    if (change.op !== "put" || change.type !== "config" || change.key.kind !== "EnvoyFilter") continue;
    const { namespace, name } = change.key;
    const { configPatches } = change.value.spec as {
      readonly configPatches?: readonly { readonly applyTo?: unknown }[];
    };
    for (const { applyTo } of configPatches ?? []) {
      const patch = patchKinds.get(String(applyTo));
      if (patch !== undefined) yield { name: `${namespace}/${name}`, patch };
    }
  }
}

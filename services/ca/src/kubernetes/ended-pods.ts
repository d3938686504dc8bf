/** Finds holders of certificates that are ended pods: a rotation of the root does not wait for those. */
import { type KubeApi, KubeError, type Pod } from "@flotilla/kube-api";
import type { Logger } from "@flotilla/runtime";
import { nameOf } from "../rotation/holders.ts";
import type { Holding } from "../rotation/ledger.ts";

export interface EndedPodsOptions {
  readonly api: Pick<KubeApi, "get">;
  /** The cluster of this API server: pods of others are not asked for. */
  readonly clusterId: string;
  readonly nowMs: () => number;
  readonly log: Logger;
}

/** A pod that was there is asked for again after this. */
const againMs = 30_000;
/** Of one look: the others come with the next. */
const maxQuestions = 50;

/** Gives the names of the holders that have ended. Where pods may not be read, none has. */
export function endedPods({ api, clusterId, nowMs, log }: EndedPodsOptions) {
  const ended = new Set<string>();
  const seenMs = new Map<string, number>();
  let isRefused = false;
  const ask = async (holder: string, { namespace, name, uid }: NonNullable<Holding["pod"]>): Promise<void> => {
    seenMs.set(holder, nowMs());
    try {
      const path = `/api/v1/namespaces/${encodeURIComponent(namespace)}/pods/${encodeURIComponent(name)}`;
      const found = await api.get<Pod & { readonly status?: { readonly phase?: string } }>(path);
      const hasEnded = found?.status?.phase === "Succeeded" || found?.status?.phase === "Failed";
      if (found === undefined || found.metadata.uid !== uid || hasEnded) ended.add(holder);
      isRefused = false;
    } catch (error) {
      if (!(error instanceof KubeError)) throw error;
      if (!isRefused) log.warn("pods cannot be read: a rotation waits for certificates of deleted pods too", { error });
      isRefused = true;
    }
  };
  return async (holdings: readonly Holding[]): Promise<ReadonlySet<string>> => {
    const due = holdings.flatMap((holding) => {
      const { pod } = holding;
      if (pod?.cluster !== clusterId) return [];
      const name = nameOf(holding);
      if (ended.has(name) || nowMs() - (seenMs.get(name) ?? Number.NEGATIVE_INFINITY) < againMs) return [];
      return [() => ask(name, pod)];
    });
    await Promise.all(due.slice(0, maxQuestions).map((question) => question()));
    const names = new Set(holdings.map(nameOf));
    for (const name of [...seenMs.keys()]) if (!names.has(name)) seenMs.delete(name);
    for (const name of [...ended]) if (!names.has(name)) ended.delete(name);
    return new Set(ended);
  };
}

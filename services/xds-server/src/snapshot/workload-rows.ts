/**
 * Workloads as inputs of the graph, with the rows by which they are found: by namespace and by address. A row is written once for
 * a group of changes: a mesh of many workloads loads in one pass, and one that comes or goes costs its slice.
 */
import type { Graph, InputKey } from "@flotilla/incremental";
import type { WorkloadChange } from "@flotilla/model";
import { changedSlices, keys, type SliceText, sliceTexts } from "./row-index.ts";
import type { Subject } from "./subject.ts";

export class WorkloadRows {
  readonly #graph: Graph<Subject>;
  readonly #namespaces = new Map<string, Set<string>>();
  /** Of the group that is applied: the workloads that came or went, by namespace. */
  readonly #changed = new Map<string, Set<string>>();

  constructor(graph: Graph<Subject>) {
    this.#graph = graph;
  }

  apply(change: WorkloadChange): void {
    const { uid, namespace } = change.key;
    const key = keys.workload(uid);
    const before = this.#graph.get(key);
    const after = change.op === "put" ? change.value : undefined;
    this.#graph.set(key, after);
    const [old, now] = [new Set(before?.addresses), new Set(after?.addresses)];
    for (const address of old) if (!now.has(address)) this.#move(keys.workloadsAt(address), uid, false);
    for (const address of now) if (!old.has(address)) this.#move(keys.workloadsAt(address), uid, true);
    if ((before === undefined) !== (after === undefined)) this.#trackNamespace(namespace, uid, after !== undefined);
  }

  /** After a group of changes. */
  publish(): void {
    if (this.#changed.size === 0) return;
    const known = this.#graph.get(keys.workloadNamespaces) ?? [];
    for (const [namespace, changed] of this.#changed) {
      const slices = this.#slicesOf(namespace, changed);
      this.#graph.set(keys.workloadSlices(namespace), slices.length === 0 ? undefined : slices);
    }
    this.#changed.clear();
    const isSame = known.length === this.#namespaces.size && known.every((one) => this.#namespaces.has(one));
    if (!isSame) this.#graph.set(keys.workloadNamespaces, [...this.#namespaces.keys()].sort());
  }

  #slicesOf(namespace: string, changed: ReadonlySet<string>): readonly SliceText[] {
    const uids = this.#namespaces.get(namespace) ?? new Set();
    const slices = this.#graph.get(keys.workloadSlices(namespace)) ?? [];
    if (changed.size > slices.length) return sliceTexts([...uids].sort());
    let after = slices;
    for (const uid of changed) after = changedSlices(after, uid, uids.has(uid));
    return after;
  }

  #trackNamespace(namespace: string, uid: string, exists: boolean): void {
    const uids = this.#namespaces.get(namespace) ?? new Set();
    if (exists) uids.add(uid);
    else uids.delete(uid);
    if (uids.size === 0) this.#namespaces.delete(namespace);
    else this.#namespaces.set(namespace, uids);
    const changed = this.#changed.get(namespace) ?? new Set();
    this.#changed.set(namespace, changed.add(uid));
  }

  #move(key: InputKey<readonly string[]>, uid: string, isThere: boolean): void {
    const others = (this.#graph.get(key) ?? []).filter((other) => other !== uid);
    const uids = isThere ? [...others, uid].sort() : others;
    this.#graph.set(key, uids.length === 0 ? undefined : uids);
  }
}

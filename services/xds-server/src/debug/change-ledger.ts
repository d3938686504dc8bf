/** The last change of each input of the mesh: its position and time of arrival; and counters of changes. */
import { type Cause, type Change, configKeyText } from "@flotilla/model";

export interface LastChange {
  readonly position: number;
  /** When this replica applied it, milliseconds since the epoch. */
  readonly atMs: number;
  readonly cause: Cause;
}

interface Removal {
  readonly input: string;
  readonly position: number;
}

/** Removals are kept for a while only: they would add up. */
const maxRemovals = 1_000;

export class ChangeLedger {
  readonly #byInput = new Map<string, LastChange>();
  readonly #counts = new Map<string, number>();
  #removals: Removal[] = [];

  note(changes: readonly Change[], last: LastChange): void {
    const { position } = last;
    for (const change of changes) {
      const [input, what] = [inputOf(change), change.type === "config" ? change.key.kind : change.type];
      this.#counts.set(what, (this.#counts.get(what) ?? 0) + 1);
      if (change.op === "put") this.#byInput.set(input, last);
      else if (this.#byInput.delete(input)) this.#removals.push({ input, position });
    }
    if (this.#removals.length > 2 * maxRemovals) this.#removals = this.#removals.slice(-maxRemovals);
  }

  /** `input`: an input of the core, by its key. Undefined for what never came as a change. */
  of(input: string): LastChange | undefined {
    return this.#byInput.get(input);
  }

  /** Number of changes of these kinds or types so far; equal numbers mean that nothing changed between. */
  count(what: Iterable<string>): number {
    let count = 0;
    for (const one of what) count += this.#counts.get(one) ?? 0;
    return count;
  }

  /** Inputs removed by changes after `from` and up to `to`, as far as they are remembered. */
  removed(from: number, to: number): readonly string[] {
    return this.#removals.filter(({ position }) => position > from && position <= to).map(({ input }) => input);
  }
}

/** The core's own key of what a change sets. */
function inputOf(change: Change): string {
  if (change.type === "config") {
    if (change.key.kind === "MeshConfig") return "mesh";
    return change.key.kind === "MeshNetworks" ? "networks" : `config/${configKeyText(change.key)}`;
  }
  if (change.type === "workload") return `workload/${change.key.uid}`;
  const { namespace, hostname } = change.key;
  return `${change.type === "service" ? "service" : "endpoints"}/${namespace}/${hostname}`;
}

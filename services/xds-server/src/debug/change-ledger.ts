/** When each input of the mesh changed last: its place in the fleet's sequence of changes, and the time it came in. */
import { type Change, configKeyText } from "@flotilla/model";

export interface LastChange {
  readonly position: number;
  /** When this replica applied it, milliseconds since the epoch. */
  readonly atMs: number;
  readonly isRemoved: boolean;
}

export class ChangeLedger {
  readonly #byInput = new Map<string, LastChange>();

  note(changes: readonly Change[], position: number, atMs: number): void {
    for (const change of changes)
      this.#byInput.set(inputOf(change), { position, atMs, isRemoved: change.op === "delete" });
  }

  /** `input`: an input of the core, by its key. Undefined for what never came as a change. */
  of(input: string): LastChange | undefined {
    return this.#byInput.get(input);
  }
}

/** The core's own key of what a change sets. */
function inputOf(change: Change): string {
  if (change.type === "config") {
    if (change.key.kind === "MeshConfig") return "mesh";
    return change.key.kind === "MeshNetworks" ? "networks" : `config/${configKeyText(change.key)}`;
  }
  const { namespace, hostname } = change.key;
  return `${change.type === "service" ? "service" : "endpoints"}/${namespace}/${hostname}`;
}

/**
 * The revocation lists of the mesh's CAs, as ca publishes them beside the roots. A new list ends the streams of callers whose
 * certificate it names.
 */
import { RevocationLists, type TrustBundleSpec, trustBundleKind } from "@flotilla/auth";
import type { Change } from "@flotilla/model";
import type { Logger } from "@flotilla/runtime";
import type { ChangeListener } from "./core-source.ts";

export class Revocations {
  readonly #lists: RevocationLists;

  constructor(log: Logger) {
    this.#lists = new RevocationLists(log);
  }

  get crls(): RevocationLists["crls"] {
    return this.#lists.crls;
  }

  /** Reads the lists in the changes; `onNewLists` is called once other lists and the changes around them are in force. */
  follow(onNewLists: () => void): ChangeListener {
    let isNew = false;
    return {
      beforeApply: (changes) => {
        isNew = changes.map((change) => this.#note(change)).includes(true);
      },
      afterApply: () => {
        if (isNew) onNewLists();
      },
    };
  }

  /** True when other lists are in force now. */
  #note(change: Change): boolean {
    if (change.type !== "config" || change.key.kind !== trustBundleKind) return false;
    const { crls } = (change.op === "put" ? change.value.spec : {}) as Partial<TrustBundleSpec>;
    return this.#lists.replace(`${change.key.namespace}/${change.key.name}`, typeof crls === "string" ? crls : "");
  }
}

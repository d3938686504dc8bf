/**
 * The revocation lists of the mesh's CAs, as ca publishes them beside the roots. A new list ends the streams of callers whose
 * certificate it names.
 */
import { RevocationLists, type TrustBundleSpec, trustBundleKind } from "@flotilla/auth";
import type { Change } from "@flotilla/model";
import type { Logger } from "@flotilla/runtime";
import type { CoreSource } from "./core-source.ts";

export interface RevocationsOptions {
  readonly log: Logger;
  /** Other lists are in force. */
  readonly onChange: () => void;
}

type Source = Pick<CoreSource, "apply">;

export class Revocations {
  readonly #options: RevocationsOptions;
  readonly #lists: RevocationLists;

  constructor(options: RevocationsOptions) {
    this.#options = options;
    this.#lists = new RevocationLists(options.log);
  }

  get crls(): RevocationLists["crls"] {
    return this.#lists.crls;
  }

  /** Reads the lists in the changes that are applied. */
  watched(source: Source): Source {
    return {
      apply: (changes, occasion) => {
        const isNew = changes.map((change) => this.#note(change)).includes(true);
        const refusals = source.apply(changes, occasion);
        if (isNew) this.#options.onChange();
        return refusals;
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

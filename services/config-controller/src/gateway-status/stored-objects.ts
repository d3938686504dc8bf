/**
 * The status of Gateway API objects as the API server has it, with the version that a write has to name: noted by the followers of these
 * objects for their configuration, so that a status is compared without a request for it.
 */
import type { KubeObject } from "@flotilla/kube-api";
import { type ConfigKey, configKeyText } from "@flotilla/model";
import { statusKinds } from "./gateway-inputs.ts";

export interface StoredObject {
  readonly metadata: { readonly generation?: number; readonly resourceVersion?: string; readonly uid?: string };
  readonly status?: unknown;
}

export class StoredObjects {
  readonly #objects = new Map<string, StoredObject>();
  #onNoted: ((text: string) => void) | undefined;

  /** `onNoted` learns of each object that is noted, until the function that is returned is called. */
  listen(onNoted: (text: string) => void): () => void {
    this.#onNoted = onNoted;
    return () => {
      if (this.#onNoted === onNoted) this.#onNoted = undefined;
    };
  }

  /** `object` undefined: it is gone. */
  note(key: ConfigKey, object: KubeObject | StoredObject | undefined): void {
    if (!statusKinds.has(key.kind)) return;
    const text = configKeyText(key);
    if (object === undefined) {
      this.forget(text);
      return;
    }
    const { metadata, status } = object as StoredObject;
    const { generation, resourceVersion, uid } = metadata;
    const known = {
      ...(generation !== undefined && { generation }),
      ...(resourceVersion !== undefined && { resourceVersion }),
      ...(uid !== undefined && { uid }),
    };
    this.#objects.set(text, { metadata: known, status });
    this.#onNoted?.(text);
  }

  /** Of what may be older than what the API server has. */
  forget(text: string): void {
    this.#objects.delete(text);
  }

  /** Undefined: it is to be asked for. */
  get(text: string): StoredObject | undefined {
    return this.#objects.get(text);
  }
}

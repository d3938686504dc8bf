/**
 * Self-signed roots on the bus, for replicas without a cluster and without a shared disk: sealed with the key that our services
 * share, so that who reads the bus, its disk or a copy of it has no key of the mesh.
 */
import { BusError, type KeyValue, type Seal } from "@flotilla/bus";
import { decodeShape, recordOf, text } from "@flotilla/model";
import { CaError } from "../errors.ts";
import type { DocumentData, SharedDocument } from "./document-store.ts";
import { nextVersion, SealedCopy, type SealedCopyOptions, versionOf } from "./sealed-copy.ts";

export const rootsBucket = "ca-roots";
const key = "self-signed";
/** Sealed for this place: the bytes open nowhere else. */
const place = `${rootsBucket}/${key}`;

/**
 * `values` resolves when the bus is there: no replica makes another root meanwhile. A document that is missing there, or older than the copy
 * of this replica, is written again.
 */
export function sealedDocument(values: () => Promise<KeyValue>, seal: Seal, kept: SealedCopyOptions): SharedDocument {
  const name = "the self-signed root on the bus";
  const open = (sealed: Uint8Array): DocumentData => {
    try {
      return decodeShape(seal.open(sealed, place), recordOf(text));
    } catch (cause) {
      // Never replaced by another one: that would end the trust of the whole mesh.
      throw trouble("does not open with the key in SEAL_KEY_FILE", cause);
    }
  };
  const trouble = (reason: string, cause: unknown) => new CaError("CA_BAD_MATERIAL", `${name}: ${reason}`, { cause });
  const onBus = async <T>(work: (bucket: KeyValue) => Promise<T>): Promise<T> => {
    try {
      return await work(await values());
    } catch (cause) {
      if (cause instanceof BusError) throw trouble(cause.message, cause);
      throw cause;
    }
  };
  const copy = new SealedCopy(kept, open);
  /** False: somebody else was faster. */
  const store = async (bytes: Uint8Array, revision: number): Promise<boolean> => {
    const stored = await onBus((bucket) => bucket.update(key, bytes, revision));
    if (stored !== undefined) await copy.keep({ bytes, data: open(bytes) });
    return stored !== undefined;
  };
  const read = async (): ReturnType<SharedDocument["read"]> => {
    const found = await onBus((bucket) => bucket.get(key));
    const bytes = found?.value;
    const revision = found?.revision ?? 0;
    const data = bytes === undefined ? undefined : open(bytes);
    const newest = await copy.newest();
    if (newest !== undefined && (data === undefined || versionOf(data) < versionOf(newest.data))) {
      const versions = { version: versionOf(newest.data), stored: data && versionOf(data) };
      kept.log.error("the bus lost the self-signed root, which is written again from the copy on disk", versions);
      await store(newest.bytes, revision);
      return read();
    }
    if (bytes !== undefined && data !== undefined) await copy.keep({ bytes, data });
    return {
      data: data ?? {},
      exists: data !== undefined,
      write: (after) => {
        const text = JSON.stringify(nextVersion(after, data ?? {}));
        return store(seal.seal(Buffer.from(text), place), revision);
      },
    };
  };
  return { name, read };
}

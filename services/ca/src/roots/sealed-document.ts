/**
 * Self-signed roots on the bus, for replicas without a cluster and without a shared disk: sealed with the key that our services
 * share, so that who reads the bus, its disk or a copy of it has no key of the mesh.
 */
import { BusError, type KeyValue, type Seal } from "@flotilla/bus";
import { decodeShape, recordOf, text } from "@flotilla/model";
import { CaError } from "../errors.ts";
import type { DocumentData, SharedDocument } from "./document-store.ts";

export const rootsBucket = "ca-roots";
const key = "self-signed";
/** Sealed for this place: the bytes open nowhere else. */
const place = `${rootsBucket}/${key}`;

/** `values` resolves when the bus is there: nobody makes another root meanwhile. */
export function sealedDocument(values: () => Promise<KeyValue>, seal: Seal): SharedDocument {
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
  return {
    name,
    read: async () => {
      const found = await onBus((bucket) => bucket.get(key));
      const sealed = found?.value;
      const revision = found?.revision ?? 0;
      return {
        data: sealed === undefined ? {} : open(sealed),
        exists: sealed !== undefined,
        write: (data) =>
          onBus(async (bucket) => {
            const bytes = seal.seal(Buffer.from(JSON.stringify(data)), place);
            return (await bucket.update(key, bytes, revision)) !== undefined;
          }),
      };
    },
  };
}

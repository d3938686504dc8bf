/** Secrets travel and rest encrypted: AES-256-GCM with a key that the services share. */
import { createCipheriv, createDecipheriv, createHash, createHmac, randomBytes } from "node:crypto";
import { BusError } from "./errors.ts";

export interface Seal {
  /** `place` is where it will rest: it does not open anywhere else. */
  seal(plain: Uint8Array, place?: string): Uint8Array;
  /** @throws BusError BUS_SEALED when the key or the place is another, or the bytes were changed */
  open(sealed: Uint8Array, place?: string): Uint8Array;
  /** Equal for equal contents; tells nothing about them to who has no key. */
  fingerprint(plain: Uint8Array): string;
}

const algorithm = "aes-256-gcm";
const ivBytes = 12;
const tagBytes = 16;

/** @param key any secret text or bytes; 32 random bytes or more */
export function createSeal(key: Uint8Array | string): Seal {
  const secret = createHash("sha256").update("flotilla seal").update(key).digest();
  return {
    seal: (plain, place = "") => {
      const iv = randomBytes(ivBytes);
      const cipher = createCipheriv(algorithm, secret, iv).setAAD(Buffer.from(place));
      const body = Buffer.concat([cipher.update(plain), cipher.final()]);
      return Buffer.concat([iv, cipher.getAuthTag(), body]);
    },
    open: (sealed, place = "") => {
      const bytes = Buffer.from(sealed);
      try {
        const decipher = createDecipheriv(algorithm, secret, bytes.subarray(0, ivBytes)).setAAD(Buffer.from(place));
        decipher.setAuthTag(bytes.subarray(ivBytes, ivBytes + tagBytes));
        return Buffer.concat([decipher.update(bytes.subarray(ivBytes + tagBytes)), decipher.final()]);
      } catch (cause) {
        throw new BusError("BUS_SEALED", "a sealed payload does not open with this key", { cause });
      }
    },
    fingerprint: (plain) => createHmac("sha256", secret).update(plain).digest("hex").slice(0, 32),
  };
}

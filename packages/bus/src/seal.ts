/**
 * Secrets travel and rest encrypted: AES-256-GCM with a key that the services share. Keys derived from it (HKDF) authenticate
 * everything else.
 */
import {
  createCipheriv,
  createDecipheriv,
  createHash,
  createHmac,
  createSecretKey,
  hkdfSync,
  type KeyObject,
  randomBytes,
} from "node:crypto";
import { readFile } from "node:fs/promises";
import { BusError } from "./errors.ts";

/** Encrypts Secrets and authenticates values for the place where they rest. */
export interface Seal {
  /** `place` is where it will rest: it does not open anywhere else. */
  seal(plain: Uint8Array, place?: string): Uint8Array;
  /** @throws BusError BUS_SEALED when the key or the place is another, or the bytes were changed */
  open(sealed: Uint8Array, place?: string): Uint8Array;
  /** Equal for equal contents; reveals nothing about them without the key. */
  fingerprint(plain: Uint8Array): string;
  /** HMAC-SHA256 of the parts, with a key derived for `purpose`: a tag for one purpose is invalid for another. */
  mac(purpose: MacPurpose, parts: readonly (string | Uint8Array)[]): Buffer;
}

type MacPurpose = "bus message" | "shared value" | "snapshot entry" | "snapshot";

const algorithm = "aes-256-gcm";
const ivBytes = 12;
const tagBytes = 16;
const macKeyBytes = 32;

/** Undefined without a file. @throws when it cannot be read */
export async function readSeal(file: string | undefined): Promise<Seal | undefined> {
  return file === undefined ? undefined : createSeal(await readFile(file));
}

/** @param key any secret text or bytes; 32 random bytes or more */
export function createSeal(key: Uint8Array | string): Seal {
  const secret = createHash("sha256").update("flotilla seal").update(key).digest();
  const derived = new Map<MacPurpose, KeyObject>();
  const keyFor = (purpose: MacPurpose): KeyObject => {
    const made =
      derived.get(purpose) ??
      createSecretKey(Buffer.from(hkdfSync("sha256", secret, "", `flotilla ${purpose}`, macKeyBytes)));
    derived.set(purpose, made);
    return made;
  };
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
    mac: (purpose, parts) => {
      const hmac = createHmac("sha256", keyFor(purpose));
      const length = Buffer.alloc(4);
      for (const part of parts) {
        // With its length before it, so that no two lists of parts give the same bytes.
        length.writeUInt32BE(Buffer.byteLength(part));
        hmac.update(length).update(part);
      }
      return hmac.digest();
    },
  };
}

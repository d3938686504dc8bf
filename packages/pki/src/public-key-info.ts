/**
 * Reads the key of a SubjectPublicKeyInfo, and checks that such a key is accepted. Read from the bytes: to ask OpenSSL for the details of a
 * key costs as much as to check a signature with it.
 */
import { type DerReader, readWhole } from "./der/reader.ts";
import { tag } from "./der/tags.ts";
import { parseBitString, parseOid } from "./der/values.ts";
import { PkiError } from "./errors.ts";
import { oids } from "./oids.ts";

/** Kind and size of a public key. */
export interface PublicKeyInfo {
  readonly family: "rsa" | "ec" | "other";
  /** Its name in audit lines: `rsa-2048`, `ecdsa-p256`, or the object identifier of another kind. */
  readonly name: string;
  readonly rsa?: { readonly bits: number; readonly exponent: number };
}

const curves: ReadonlyMap<string, string> = new Map([
  [oids.p256, "ecdsa-p256"],
  [oids.p384, "ecdsa-p384"],
]);

/** @throws PkiError PKI_BAD_DER */
export function parsePublicKeyInfo(spki: Buffer): PublicKeyInfo {
  const info = readWhole(spki, tag.sequence, "the public key");
  const algorithm = info.enter(tag.sequence);
  const id = parseOid(algorithm.next(tag.oid));
  const bits = parseBitString(info.next(tag.bitString));
  info.end();
  if (id === oids.rsaEncryption) {
    if ((algorithm.optional(tag.null)?.body.length ?? 0) > 0)
      throw new PkiError("PKI_BAD_DER", "the public key has a NULL that is not empty");
    algorithm.end();
    return rsaInfo(bits);
  }
  if (id !== oids.ecPublicKey) return { family: "other", name: id };
  // A curve may also be written out in numbers, which has been used to smuggle in weak ones.
  const curve = algorithm.optional(tag.oid);
  if (curve !== undefined) algorithm.end();
  const curveId = curve === undefined ? "explicit curve" : parseOid(curve);
  return { family: "ec", name: curves.get(curveId) ?? `ecdsa ${curveId}` };
}

function rsaInfo(key: Buffer): PublicKeyInfo {
  const numbers = readWhole(key, tag.sequence, "the RSA key");
  const modulus = magnitude(numbers);
  const exponent = magnitude(numbers);
  numbers.end();
  const bits = modulus.length * 8 - Math.clz32(modulus[0] ?? 0) + 24;
  // Exponents beyond 32 bits are refused anyway.
  const value = exponent.length > 4 ? Number.POSITIVE_INFINITY : exponent.readUIntBE(0, exponent.length);
  return { family: "rsa", name: `rsa-${bits}`, rsa: { bits, exponent: value } };
}

/** The bytes of a positive integer without the one that is its sign. */
function magnitude(reader: DerReader): Buffer {
  const { body } = reader.next(tag.integer);
  const bytes = body[0] === 0 ? body.subarray(1) : body;
  if (bytes.length === 0 || ((body[0] ?? 0) & 0x80) !== 0)
    throw new PkiError("PKI_BAD_DER", "an RSA key with a number below one");
  return bytes;
}

/**
 * May a certificate be issued for the key? Large RSA keys are refused too: each check of a signature costs with their size.
 * @throws PkiError PKI_WEAK_KEY, PKI_UNSUPPORTED_ALGORITHM
 */
export function checkKeyPolicy({ name, rsa }: PublicKeyInfo): void {
  if (rsa === undefined) {
    if (name === "ecdsa-p256" || name === "ecdsa-p384") return;
    throw new PkiError("PKI_UNSUPPORTED_ALGORITHM", `key of type ${name}, RSA, P-256 and P-384 are taken`);
  }
  const { bits, exponent } = rsa;
  if (bits < 2048) throw new PkiError("PKI_WEAK_KEY", `RSA key of ${bits} bits, at least 2048 are needed`);
  if (bits > 8192) throw new PkiError("PKI_UNSUPPORTED_ALGORITHM", `RSA key of ${bits} bits, at most 8192 are taken`);
  if (exponent < 3 || exponent > 0xffffffff || exponent % 2 === 0)
    throw new PkiError("PKI_WEAK_KEY", "the public exponent of the RSA key is out of range");
}

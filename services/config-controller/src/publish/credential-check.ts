/** Checks that proxies could use the certificates and keys of a Secret, or the roots of a ConfigMap. Reasons hold nothing of a key. */
import { type Config, isBase64, type JsonObject, ownValue } from "@flotilla/model";
import {
  checkKeyPolicy,
  isSameKey,
  PkiError,
  parseCertificatesPem,
  parseCrlsPem,
  parsePrivateKey,
  parsePublicKeyInfo,
} from "@flotilla/pki";

export interface CheckedCredential {
  /** Why it cannot be used, and the field that is the cause. */
  readonly problem?: { readonly field: string; readonly reason: string };
  /** When its certificate ends. */
  readonly expiresMs?: number;
}

/** In the order in which proxies are given them. */
const pairFields = [
  ["cert", "key"],
  ["tls.crt", "tls.key"],
] as const;
const rootFields = [
  ["cacert", "crl"],
  ["ca.crt", "ca.crl"],
] as const;

/** A Secret of other contents, such as a password, is none of a proxy's: nothing is wrong with it. */
export function checkCredential({ key: { kind }, spec }: Config, nowMs: number): CheckedCredential {
  const data = ((spec as JsonObject)["data"] ?? {}) as JsonObject;
  try {
    const text = kind === "Secret" ? decoder(data) : (field: string) => ownValue(data, field) ?? "";
    const texts = (field: string) => String(text(field));
    const expiresMs = kind === "Secret" ? checkPair(texts, nowMs) : undefined;
    checkRoots(texts);
    return expiresMs === undefined ? {} : { expiresMs };
  } catch (error) {
    if (!(error instanceof Unusable)) throw error;
    return { problem: { field: `data[${error.field}]`, reason: error.message } };
  }
}

class Unusable extends Error {
  readonly field: string;

  constructor(field: string, reason: string) {
    super(reason);
    this.field = field;
  }
}

type TextOf = (field: string) => string;

function decoder(data: JsonObject): TextOf {
  return (field) => {
    const value = ownValue(data, field) ?? "";
    if (!isBase64(value)) throw new Unusable(field, "is not base64");
    return Buffer.from(value, "base64").toString("latin1");
  };
}

/** Gives when its certificate ends; undefined without a key pair. */
function checkPair(text: TextOf, nowMs: number): number | undefined {
  const pair = pairFields.find(([certificate, key]) => text(certificate) !== "" && text(key) !== "");
  if (pair === undefined) {
    const half = pairFields.flatMap(([certificate, key]) => {
      const [hasCertificate, hasKey] = [text(certificate) !== "", text(key) !== ""];
      return hasCertificate === hasKey ? [] : [hasCertificate ? [key, certificate] : [certificate, key]];
    });
    const [[missing = "", there = ""] = []] = half;
    if (missing !== "") throw new Unusable(missing, `is missing beside ${there}`);
    return undefined;
  }
  const [certificateField, keyField] = pair;
  const [leaf] = within(certificateField, () => parseCertificatesPem(text(certificateField)));
  if (leaf === undefined) throw new Unusable(certificateField, "holds no certificate");
  within(certificateField, () => checkKeyPolicy(parsePublicKeyInfo(leaf.spki)));
  const isOwn = within(keyField, () => isSameKey(parsePrivateKey(text(keyField)), leaf.publicKey));
  if (!isOwn) throw new Unusable(keyField, `is not the key of the certificate in ${certificateField}`);
  if (leaf.notAfterMs <= nowMs)
    throw new Unusable(certificateField, `its certificate expired on ${timeText(leaf.notAfterMs)}`);
  return leaf.notAfterMs;
}

function checkRoots(text: TextOf): void {
  const used = rootFields.find(([roots]) => text(roots) !== "");
  if (used === undefined) return;
  const [roots, revoked] = used;
  if (within(roots, () => parseCertificatesPem(text(roots))).length === 0)
    throw new Unusable(roots, "holds no certificate");
  if (text(revoked) !== "" && within(revoked, () => parseCrlsPem(text(revoked))).length === 0)
    throw new Unusable(revoked, "holds no revocation list");
}

function within<Result>(field: string, read: () => Result): Result {
  try {
    return read();
  } catch (error) {
    if (!(error instanceof PkiError)) throw error;
    throw new Unusable(field, error.message.replace(/^\[\w+\] /, ""));
  }
}

export function timeText(timeMs: number): string {
  return new Date(timeMs).toISOString().replace(/\.\d+Z$/, "Z");
}

/** SPIFFE trust bundles (SPIFFE_Trust_Domain_and_Bundle.md, 4): a JWK set with a certificate for each X.509 root. */
import { type Certificate, parseCertificate } from "@flotilla/pki";
import { CaError } from "../errors.ts";

export interface SpiffeBundle {
  readonly roots: readonly Certificate[];
  /** How often the publisher wants to be asked. */
  readonly refreshMs?: number;
}

/** @throws CaError CA_BAD_BUNDLE with the reason; PkiError when a certificate cannot be read. */
export function parseSpiffeBundle(text: string): SpiffeBundle {
  const { keys, spiffe_refresh_hint: hint } = read(text);
  if (!Array.isArray(keys)) throw bad("it has no keys");
  // Keys of tokens stand beside those of certificates.
  const x509 = keys.filter((key: unknown) => (key as { use?: unknown } | null)?.use === "x509-svid");
  const roots = x509.map((key: { readonly x5c?: unknown }, at) => {
    const [der, ...more] = Array.isArray(key.x5c) ? (key.x5c as unknown[]) : [];
    if (typeof der !== "string" || more.length > 0) throw bad(`key ${at} has not exactly one certificate in x5c`);
    return parseCertificate(Buffer.from(der, "base64"));
  });
  if (roots.length === 0) throw bad("it has no key of use x509-svid");
  return { roots, ...(typeof hint === "number" && hint > 0 && { refreshMs: hint * 1000 }) };
}

function read(text: string): Readonly<Record<string, unknown>> {
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value === "object" && value !== null) return value as Readonly<Record<string, unknown>>;
  } catch (cause) {
    throw new CaError("CA_BAD_BUNDLE", "the SPIFFE bundle is not JSON", { cause });
  }
  throw bad("it is not an object");
}

function bad(reason: string): CaError {
  return new CaError("CA_BAD_BUNDLE", `the SPIFFE bundle cannot be used: ${reason}`);
}

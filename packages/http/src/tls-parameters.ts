/**
 * TLS versions and cipher suites of this process's servers: by COMPLIANCE_POLICY, else by the lowest version and the suites that settings
 * name, else TLS 1.2 and later with Node's suites, in the server's order. As istiod restricts its own ports; fips-140-3 assumes an OpenSSL
 * that was validated for it.
 */
import type { SecureContextOptions } from "node:tls";

export type CompliancePolicy = "" | "fips-140-2" | "fips-140-3" | "pqc";

/** The settings of a server's handshakes; a compliance policy decides alone, as in istiod. */
export interface TlsPolicy {
  readonly compliancePolicy?: CompliancePolicy;
  readonly tlsMinVersion?: "1.2" | "1.3";
  /** Suites of TLS 1.2 by their registered names; empty: those of Node. Those of TLS 1.3 are not chosen, as in Go. */
  readonly tlsCipherSuites?: readonly string[];
}

export type ServerTlsParameters = Readonly<
  Pick<SecureContextOptions, "minVersion" | "maxVersion" | "ciphers" | "ecdhCurve" | "honorCipherOrder">
>;

/** Of TLS 1.2, with the key exchange and encryption that FIPS 140 approves. */
const certifiedSuites = [
  "ECDHE-ECDSA-AES128-GCM-SHA256",
  "ECDHE-RSA-AES128-GCM-SHA256",
  "ECDHE-ECDSA-AES256-GCM-SHA384",
  "ECDHE-RSA-AES256-GCM-SHA384",
];

/** Of TLS 1.3. */
const aesSuites = ["TLS_AES_128_GCM_SHA256", "TLS_AES_256_GCM_SHA384"];

/** Suites of TLS 1.2 that Go's servers may be limited to and OpenSSL still has, with OpenSSL's names. */
export const tlsCipherSuites: ReadonlyMap<string, string> = new Map(
  ["ECDSA", "RSA"].flatMap((signature) =>
    [
      ["AES_128_GCM_SHA256", "AES128-GCM-SHA256"],
      ["AES_256_GCM_SHA384", "AES256-GCM-SHA384"],
      ["CHACHA20_POLY1305_SHA256", "CHACHA20-POLY1305"],
      ["AES_128_CBC_SHA", "AES128-SHA"],
      ["AES_256_CBC_SHA", "AES256-SHA"],
    ].map(([name, own]): [string, string] => [`TLS_ECDHE_${signature}_WITH_${name}`, `ECDHE-${signature}-${own}`]),
  ),
);

/** Node's order. */
const suitesOfTls13 = ["TLS_AES_256_GCM_SHA384", "TLS_CHACHA20_POLY1305_SHA256", "TLS_AES_128_GCM_SHA256"];

export function serverTlsParameters(given: TlsPolicy): ServerTlsParameters {
  switch (given.compliancePolicy ?? "") {
    case "": {
      const suites = (given.tlsCipherSuites ?? []).flatMap((name) => tlsCipherSuites.get(name) ?? []);
      return {
        ...{ minVersion: given.tlsMinVersion === "1.3" ? "TLSv1.3" : "TLSv1.2", honorCipherOrder: true },
        ...(suites.length > 0 && { ciphers: [...suitesOfTls13, ...suites].join(":") }),
      };
    }
    case "fips-140-2":
      return restricted({ minVersion: "TLSv1.2", maxVersion: "TLSv1.2", suites: certifiedSuites, curves: ["P-256"] });
    case "fips-140-3": {
      const suites = [...aesSuites, ...certifiedSuites];
      return restricted({ minVersion: "TLSv1.2", maxVersion: "TLSv1.3", suites, curves: ["P-256", "P-384"] });
    }
    case "pqc":
      return restricted({
        ...{ minVersion: "TLSv1.3", maxVersion: "TLSv1.3" },
        suites: aesSuites,
        curves: ["X25519MLKEM768"],
      });
  }
}

interface Restriction extends Pick<SecureContextOptions, "minVersion" | "maxVersion"> {
  readonly suites: readonly string[];
  readonly curves: readonly string[];
}

function restricted({ suites, curves, ...versions }: Restriction): ServerTlsParameters {
  return { ...versions, ciphers: suites.join(":"), ecdhCurve: curves.join(":"), honorCipherOrder: true };
}

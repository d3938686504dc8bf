/**
 * COMPLIANCE_POLICY: what a server of this process agrees to in a handshake. Without a policy that is TLS 1.2 and later with Node's
 * suites, in the server's order. As istiod restricts its own ports; fips-140-3 assumes an OpenSSL that was validated for it.
 */
import type { SecureContextOptions } from "node:tls";

export type CompliancePolicy = "" | "fips-140-2" | "fips-140-3" | "pqc";

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

export function serverTlsParameters(policy: CompliancePolicy): ServerTlsParameters {
  switch (policy) {
    case "":
      return { minVersion: "TLSv1.2", honorCipherOrder: true };
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

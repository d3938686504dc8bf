/** Settings of services that end TLS themselves. */
import { type CompliancePolicy, tlsCipherSuites } from "@flotilla/http";
import { list, oneOf } from "./kinds.ts";
import type { Setting } from "./settings.ts";

export const complianceSetting = {
  compliancePolicy: oneOf<CompliancePolicy>({
    env: "COMPLIANCE_POLICY",
    default: "",
    values: ["fips-140-2", "fips-140-3", "pqc"],
    sentence:
      "TLS of proxies and of this service's own ports: fips-140-2 (version 1.2 and certified cipher suites), fips-140-3 (the same suites, and version 1.3 with AES) or pqc (version 1.3 with X25519MLKEM768).",
  }),
} as const;

/** Of the own ports alone, in place of `--tls-min-version` and `--tls-cipher-suites` of pilot-discovery. */
export const tlsPortSettings = {
  tlsMinVersion: oneOf<"1.2" | "1.3">({
    env: "TLS_MIN_VERSION",
    default: "1.2",
    values: ["1.2", "1.3"],
    sentence: "Lowest version of TLS on this service's own ports; COMPLIANCE_POLICY decides where it is set.",
  }),
  tlsCipherSuites: cipherSuites(),
} as const;

function cipherSuites(): Setting<readonly string[]> {
  const { parse, ...texts } = list({
    env: "TLS_CIPHER_SUITES",
    default: [],
    sentence:
      "Cipher suites of TLS 1.2 on this service's own ports, by their registered names; those of Node if not set. COMPLIANCE_POLICY decides where it is set.",
  });
  const bounds = `names separated by commas, of ${[...tlsCipherSuites.keys()].join(", ")}`;
  return {
    ...{ ...texts, bounds },
    parse: (text) => {
      const names = parse(text);
      // Those of TLS 1.3 may be listed, and are all in use.
      const unknown = names.find((name) => !tlsCipherSuites.has(name) && !/^TLS_(AES|CHACHA20)_/.test(name));
      if (unknown !== undefined) throw new Error(`has ${unknown}, which is none of: ${bounds}`);
      return names;
    },
  };
}

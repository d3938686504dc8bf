/** The setting of services that end TLS themselves. */
import type { CompliancePolicy } from "@flotilla/http";
import { oneOf } from "./kinds.ts";

export const complianceSetting = {
  compliancePolicy: oneOf<CompliancePolicy>({
    env: "COMPLIANCE_POLICY",
    default: "",
    values: ["fips-140-2", "fips-140-3", "pqc"],
    sentence:
      "TLS of proxies and of this service's own ports: fips-140-2 (version 1.2 and certified cipher suites), fips-140-3 (the same suites, and version 1.3 with AES) or pqc (version 1.3 with X25519MLKEM768).",
  }),
} as const;

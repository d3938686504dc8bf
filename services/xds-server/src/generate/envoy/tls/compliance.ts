/**
 * COMPLIANCE_POLICY: the parameters of all TLS that proxies open or terminate, limited to what a standard allows. Applied last, whatever
 * was asked for. Source: istiod asked.
 */
import type { MessageInitShape } from "@flotilla/proto";
import {
  TlsParameters_CompliancePolicy as EnvoyPolicy,
  TlsParameters_TlsProtocol as Protocol,
  type TlsParametersSchema,
} from "@flotilla/proto/envoy/extensions/transport_sockets/tls/v3/common_pb";
import type { CompliancePolicy } from "@flotilla/runtime";
import { certifiedCipherSuites } from "./cipher-suites.ts";

export type { CompliancePolicy };

export type TlsParameters = MessageInitShape<typeof TlsParametersSchema>;

export function compliantParameters(policy: CompliancePolicy, asked: TlsParameters | undefined) {
  switch (policy) {
    case "":
      return asked;
    case "fips-140-2":
      return fips2(asked);
    case "fips-140-3":
      return { ...asked, compliancePolicies: [EnvoyPolicy.FIPS_202205] } satisfies TlsParameters;
    case "pqc":
      return {
        ...asked,
        tlsMinimumProtocolVersion: Protocol.TLSv1_3,
        // Envoy with OpenSSL restricts TLS 1.3 by this list.
        cipherSuites: [...certifiedCipherSuites],
        ecdhCurves: ["X25519MLKEM768"],
      } satisfies TlsParameters;
  }
}

/** Certified suites end with TLS 1.2; without a list an Envoy built for FIPS has them and P-256 alone. */
function fips2({ cipherSuites = [], ...asked }: TlsParameters = {}): TlsParameters {
  return {
    ...asked,
    tlsMinimumProtocolVersion: Protocol.TLSv1_2,
    tlsMaximumProtocolVersion: Protocol.TLSv1_2,
    cipherSuites: cipherSuites.filter((suite) => certifiedCipherSuites.includes(suite)),
    ecdhCurves: [],
  };
}

/** TLS of the mesh's own: versions and cipher suites that MeshConfig and the compliance policy ask for, and files of the proxy. */
import { describe } from "node:test";
import { checkFields, type FieldCase, type SidecarGiven } from "../../testing/sidecar-fields.ts";

const inbound = ["listener", "virtualInbound"] as const;
/** Of the port 80 with TLS. */
const context = "filterChains.6.transportSocket.typedConfig.commonTlsContext";
const meshTls = (meshMTLS: NonNullable<SidecarGiven["mesh"]>): SidecarGiven => ({ mesh: { meshMTLS } });
const files = { TLS_SERVER_CERT_CHAIN: "/c", TLS_SERVER_KEY: "/k", TLS_SERVER_ROOT_CERT: "/r" };

const cases: readonly FieldCase[] = [
  ["version 1.2 and newer", {}, inbound, `${context}.tlsParams.tlsMinimumProtocolVersion`, "TLSv1_2"],
  [
    "version 1.3 alone",
    meshTls({ minProtocolVersion: "TLSV1_3" }),
    inbound,
    `${context}.tlsParams.tlsMinimumProtocolVersion`,
    "TLSv1_3",
  ],
  [
    "version 1.2 by name",
    meshTls({ minProtocolVersion: "TLSV1_2" }),
    inbound,
    `${context}.tlsParams.tlsMinimumProtocolVersion`,
    "TLSv1_2",
  ],
  ["the newest version", {}, inbound, `${context}.tlsParams.tlsMaximumProtocolVersion`, "TLSv1_3"],
  [
    "cipher suites",
    {},
    inbound,
    `${context}.tlsParams.cipherSuites`,
    "[ECDHE-ECDSA-AES256-GCM-SHA384, ECDHE-RSA-AES256-GCM-SHA384, ECDHE-ECDSA-AES128-GCM-SHA256, ECDHE-RSA-AES128-GCM-SHA256, AES256-GCM-SHA384, AES128-GCM-SHA256]",
  ],
  [
    "cipher suites of MeshConfig",
    meshTls({ cipherSuites: ["ECDHE-RSA-AES128-GCM-SHA256"] }),
    inbound,
    `${context}.tlsParams.cipherSuites`,
    "[ECDHE-RSA-AES128-GCM-SHA256]",
  ],
  [
    "those of FIPS before them",
    { ...meshTls({ minProtocolVersion: "TLSV1_3" }), env: { COMPLIANCE_POLICY: "fips-140-2" } },
    inbound,
    `${context}.tlsParams`,
    "{tlsMinimumProtocolVersion: TLSv1_2, tlsMaximumProtocolVersion: TLSv1_2, cipherSuites: [ECDHE-ECDSA-AES256-GCM-SHA384, ECDHE-RSA-AES256-GCM-SHA384, ECDHE-ECDSA-AES128-GCM-SHA256, ECDHE-RSA-AES128-GCM-SHA256]}",
  ],
  ["the agent's certificate", {}, inbound, `${context}.tlsCertificateSdsSecretConfigs.0.name`, "default"],
  [
    "a certificate of files",
    { metadata: files },
    inbound,
    `${context}.tlsCertificateSdsSecretConfigs.0.name`,
    "file-cert:/c~/k",
  ],
  [
    "roots of files",
    { metadata: files },
    inbound,
    `${context}.combinedValidationContext.validationContextSdsSecretConfig.name`,
    "file-root:/r",
  ],
  [
    "no tag's length of Envoy's own",
    {},
    inbound,
    "filterChains.7.filters.1.typedConfig.tracing.maxPathTagLength",
    "none",
  ],
];

describe("TLS of the mesh", () => checkFields(cases));
